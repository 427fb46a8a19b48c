package names

// Exit codes of Muster itself, from sysexits.h where it has one, and 255 as in ssh. The user's own
// exit codes pass through unchanged; a signal is 128+n.
const (
	ExitUsage      = 64  // the command line is wrong
	ExitData       = 65  // convert: a job could not start as written
	ExitNoCluster  = 69  // the cluster cannot be reached
	ExitNoWorker   = 69  // attach: no worker runs in this container
	ExitBug        = 70  // a bug in Muster
	ExitOutput     = 74  // output could not be written: a full disk, an existing file
	ExitDeadline   = 75  // the rendezvous deadline passed, or no launcher came
	ExitHopeless   = 76  // a permanent error, or a lost worker
	ExitForbidden  = 77  // the launcher lacks a right
	ExitHung       = 79  // the run made no progress for --hang-after or broke a progress rule, and was stopped
	ExitNotRunable = 126 // the command was found but cannot be executed
	ExitNotFound   = 127 // the command was not found
	ExitTransport  = 255 // rsh: the connection to the worker failed, as in ssh
)

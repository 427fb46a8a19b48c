package names

// Exit codes of Muster itself (sysexits.h where it has a word; ssh's 255). The
// user's own codes pass through unchanged, a signal is 128+n.
const (
	ExitUsage      = 64  // the command line is wrong
	ExitData       = 65  // convert: a job could not start as it is written
	ExitNoCluster  = 69  // the cluster cannot be reached
	ExitNoWorker   = 69  // attach: no worker runs in this container
	ExitBug        = 70  // a bug of ours
	ExitOutput     = 74  // what we print or write could not be written: a full disk, a file in the way
	ExitDeadline   = 75  // rendezvous deadline passed, or no launcher ever came
	ExitHopeless   = 76  // waiting cannot help, or a worker was lost
	ExitForbidden  = 77  // the launcher lacks a right
	ExitHung       = 79  // the run did nothing for --hang-after, or broke a progress rule, and was stopped
	ExitNotRunable = 126 // the command was found but cannot be run
	ExitNotFound   = 127 // the command was not found
	ExitTransport  = 255 // rsh: the way to the worker failed, as in ssh
)

package names

// Exit codes of Muster itself, from sysexits.h where it has one, and 255 as in ssh. The user's own
// exit codes pass through unchanged; a signal is 128+n. Users read these comments in
// docs/reference/exit-codes.md.
const (
	// The command line, a variable or a setting is wrong, or a training script ran only in the launcher.
	ExitUsage = 64
	// agent convert: a job could not start as written. A setting in muster.yaml does not exist.
	ExitData = 65
	// The cluster cannot be reached.
	ExitNoCluster = 69
	// agent attach in a worker: no worker runs in this container.
	ExitNoWorker = 69
	// A bug in Muster. Please report it.
	ExitBug = 70
	// Output or a file could not be written: a full disk, an existing file.
	ExitOutput = 74
	// Workers were missing at the deadline (--timeout), or no launcher came to a worker (--await).
	ExitDeadline = 75
	// A permanent error, a lost worker, NCCL without RDMA (--require-rdma), or a command that exited with
	// 0 although a rank failed or an mpirun started nothing on the workers.
	ExitHopeless = 76
	// The launcher does not have a right that it needs.
	ExitForbidden = 77
	// The run made no progress or broke a progress rule, and was stopped.
	ExitHung = 79
	// Several attempts in a row got no further than one before (--max-no-progress).
	ExitNoProgress = 93
	// agent worker: the launcher has given up this worker, so that its pod is replaced.
	ExitReplaced = 94
	// The command exists but cannot be executed.
	ExitNotRunable = 126
	// The command was not found.
	ExitNotFound = 127
	// agent rsh: the connection to the worker failed, as in ssh.
	ExitTransport = 255
)

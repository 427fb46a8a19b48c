package names

// EarlierAttempt begins a line of a termination message about an attempt before the last one. Lines
// that begin with a tab follow: the last words of the process that failed. An example:
//
//	earlier attempt 0 (exit code 3): worker pi-worker-1: rank 1, pi (pid 9), exited with 3
const EarlierAttempt = "earlier attempt "

// PreflightFailed begins the sentence about a check that failed before ranks started. The controller
// makes a reason of it.
const PreflightFailed = "preflight: "

package worker

import "errors"

// ErrNoWorker means that no worker runs in this container: its command is not `agent worker`, or
// PID 1 is still starting.
var ErrNoWorker = errors.New("no worker runs in this container")

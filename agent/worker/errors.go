package worker

import "errors"

// ErrNoWorker says that no worker runs in this container: its command is not
// `agent worker`, or PID 1 has not come that far yet.
var ErrNoWorker = errors.New("no worker runs here")

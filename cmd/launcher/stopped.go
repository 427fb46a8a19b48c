package main

import (
	"errors"
	"strings"

	"github.com/musterhq/muster/agent/failure"
)

// stopped is the end of a wait that a signal, or the deadline, has ended: 128+n, or
// the deadline's own. The job goes on.
func stopped(cause error, name string) error {
	var late *failure.Failure
	if errors.As(cause, &late) {
		return late
	}
	code := 130
	if strings.Contains(cause.Error(), "terminated") {
		code = 143
	}
	return failure.New(code, "it goes on; agent logs -f "+name+" follows it, agent delete "+name+" ends it", "no longer waiting for job %s: %w", name, cause)
}

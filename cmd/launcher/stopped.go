package main

import (
	"errors"
	"strings"

	"github.com/musterhq/muster/agent/failure"
)

// stopped is the end of a wait that a signal, or the deadline, has ended: 128+n, or
// the deadline's own. The job goes on.
func stopped(cause error, name string) error {
	if isLate(cause) {
		return cause
	}
	return failure.New(stopCode(cause), "it goes on; agent logs -f "+name+" follows it, agent delete "+name+" ends it", "no longer waiting for job %s: %w", name, cause)
}

// isLate: the deadline has ended the wait, and no signal.
func isLate(cause error) bool {
	var late *failure.Failure
	return errors.As(cause, &late)
}

// stopCode is 128+n for the signal that ended a context.
func stopCode(cause error) int {
	if strings.Contains(cause.Error(), "terminated") {
		return 143
	}
	return 130
}

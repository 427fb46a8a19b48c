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
	return failure.New(signalCode(cause), "it goes on; agent logs -f "+name+" follows it, agent delete "+name+" ends it", "no longer waiting for job %s: %w", name, cause)
}

// isLate: the deadline has ended the wait, and no signal.
func isLate(cause error) bool {
	var late *failure.Failure
	return errors.As(cause, &late)
}

func signalCode(cause error) int {
	code := 130
	if strings.Contains(cause.Error(), "terminated") {
		code = 143
	}
	return code
}

package main

import (
	"errors"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
)

// stopped returns the error after a signal (128+n) or the deadline has ended the wait for a job.
// The job continues. seen reports whether a controller has seen it.
func stopped(api *jobs.API, name string, cause error, seen bool) error {
	way := "the job continues; " + api.Line("logs -f "+name) + " follows it, " + api.Line("delete "+name) + " ends it"
	if !seen {
		way = "no controller has seen it: kubectl get pods -A -l app.kubernetes.io/name=muster-controller shows whether one runs; " +
			api.Line("delete "+name) + " deletes the job"
	}
	if isLate(cause) {
		return failure.New(failure.CodeOf(cause), way, "%w", cause)
	}
	return failure.New(stopCode(cause), way, "no longer waiting for job %s: %w", name, cause)
}

// isLate reports whether the deadline, and not a signal, has ended the wait.
func isLate(cause error) bool {
	var late *failure.Failure
	return errors.As(cause, &late)
}

// stopCode returns 128+n for the signal that ended a context.
func stopCode(cause error) int {
	if strings.Contains(cause.Error(), "terminated") {
		return 143
	}
	return 130
}

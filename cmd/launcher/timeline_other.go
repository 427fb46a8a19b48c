//go:build !linux

package main

import (
	"runtime"
	"time"

	"github.com/musterhq/muster/agent/failure"
)

// eventsHere returns an error: launchers run on Linux.
func eventsHere() (text []byte, path string, until time.Time, err error) {
	return nil, "", until, failure.Usage("name the file of agent run --events=FILE, or a job", "no run has left events here: launchers run on Linux, and this is %s", runtime.GOOS)
}

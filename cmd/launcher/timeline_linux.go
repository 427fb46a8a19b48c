package main

import (
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/record"
)

// eventsHere returns the events of the newest run here, and when its launcher was last seen alive.
func eventsHere() (text []byte, path string, until time.Time, err error) {
	if path, until = record.Newest(); path == "" {
		return nil, "", until, failure.Usage("name the file of agent run --events=FILE, or a job", "no run has left events here")
	}
	text, err = record.Load(path)
	return text, path, until, err
}

package main

import (
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/record"
)

// eventsHere returns the events of the newest run here.
func eventsHere() (text []byte, path string, live bool, err error) {
	if path, live = record.Newest(); path == "" {
		return nil, "", false, failure.Usage("name the file of agent run --events=FILE, or a job", "no run has left events here")
	}
	text, err = record.Load(path)
	return text, path, live, err
}

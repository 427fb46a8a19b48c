package main

import (
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
)

// askTop asks the launcher that runs here what its workers use, each as JSON.
func askTop() ([]string, error) {
	socket, err := rundir.Broker()
	if err != nil {
		return nil, noTopHere()
	}
	if _, err := rsh.Hosts(socket); err != nil { // a socket file alone proves nothing
		return nil, noTopHere()
	}
	lines, err := rsh.Top(socket)
	if err != nil { // also from a launcher of an older release, while the image was replaced
		return nil, failure.New(names.ExitBug, "", "ask the launcher: %w", err)
	}
	return lines, nil
}

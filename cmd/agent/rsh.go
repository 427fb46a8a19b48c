package main

import (
	"errors"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
)

// runRsh is the remote shell: it hands its descriptors to the launcher's broker
// and ends with the remote command's code, or with 255, as ssh does.
func runRsh(args []string) int {
	req, err := rsh.Parse(args)
	if err != nil {
		return complain(names.ExitTransport, err)
	}
	socket, err := rundir.Broker()
	if err != nil {
		where := err.Error()
		var missing *rundir.NotFoundError
		if errors.As(err, &missing) {
			where = "no " + missing.Name
		}
		return complain(names.ExitTransport, rsh.NoLauncher(where))
	}
	code, err := rsh.Call(socket, req, [3]int{0, 1, 2})
	return complain(code, err)
}

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rsh/pdsh"
	"github.com/musterhq/muster/exec/rundir"
)

// runRsh is the remote shell: it hands its descriptors to the launcher's broker
// and ends with the remote command's code, or with 255, as ssh does.
func runRsh(args []string) int {
	req, err := rsh.Parse(args)
	if errors.Is(err, rsh.ErrVersion) {
		fmt.Fprintf(os.Stderr, "muster agent %s as ssh, no OpenSSH\n", version())
		return 0
	}
	if err != nil {
		return complain(names.ExitTransport, err)
	}
	if req.Command == "" {
		req.Command = rsh.Shell(rsh.IsTerminal(0))
	}
	socket, err := brokerSocket()
	if err != nil {
		return complain(names.ExitTransport, err)
	}
	code, err := rsh.Call(socket, req, [3]int{0, 1, 2})
	return complain(code, err)
}

// runPdsh is pdsh over the same broker: one command on many workers at once.
func runPdsh(args []string) int {
	const failed = 1 // what pdsh exits with when it fails itself
	job, err := pdsh.Parse(args, os.Getenv, os.Stdin)
	switch {
	case errors.Is(err, pdsh.ErrHelp):
		return show(pdsh.Help)
	case errors.Is(err, rsh.ErrVersion):
		return show(fmt.Sprintf("muster agent %s as pdsh\nrcmd modules: ssh (default: ssh)\n", version()))
	case err != nil:
		return complain(failed, err)
	}
	socket, err := brokerSocket()
	if err != nil {
		return complain(failed, err)
	}
	if job.Everywhere {
		all, err := rsh.Hosts(socket)
		if err != nil {
			return complain(failed, err)
		}
		if err := job.Add(all); err != nil {
			return complain(failed, err)
		}
	}
	host, _ := os.Hostname() // for complaints only
	return pdsh.Run(socket, job, pdsh.Output{Name: "pdsh@" + host, Out: os.Stdout, Err: os.Stderr})
}

func brokerSocket() (string, error) {
	socket, err := rundir.Broker()
	if err == nil {
		return socket, nil
	}
	where := err.Error()
	var missing *rundir.NotFoundError
	if errors.As(err, &missing) {
		where = "no " + missing.Name
	}
	return "", rsh.NoLauncher(where)
}

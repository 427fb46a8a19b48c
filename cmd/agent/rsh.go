package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rsh/pdsh"
	"github.com/musterhq/muster/exec/rundir"
)

const rshHelp = `Usage:
  agent rsh [options] [user@]HOST [COMMAND...]

Runs COMMAND on a worker, through the launcher in this pod. mpirun calls it instead
of ssh. Exits with the command's code, or with 255 if it fails itself. HOST is a name
or an address from agent hosts. Without COMMAND it runs a shell that reads stdin.

Examples:
  agent rsh worker-3 nvidia-smi
  eval "$(agent env)"; agent rsh 127.0.0.2 hostname

Options are those of ssh: -n does not read stdin, -V prints the version. Options for
keys, ports and terminals are accepted but have no effect. Forwarding and background
options (-L, -D, -N, -f...) are refused. So is -t, because a session has no terminal.
`

// runRsh is the remote shell. It passes its descriptors to the launcher's broker, and exits with
// the remote command's code, or with 255 like ssh.
func runRsh(args []string) int {
	req, err := rsh.Parse(args)
	if errors.Is(err, rsh.ErrHelp) {
		return show(rshHelp)
	}
	if err == nil && req.Terminal {
		return complain(names.ExitTransport, rsh.NoTerminal())
	}
	return callRsh(req, err)
}

// runSSH is runRsh under the name of ssh or rsh. Programs often pass -t to these. Without a
// terminal it continues, like ssh.
func runSSH(args []string) int {
	req, err := rsh.Parse(args)
	if errors.Is(err, rsh.ErrHelp) {
		err = errors.New("rsh: no host given")
	}
	return callRsh(req, err)
}

// callRsh makes the call that rsh.Parse has read, or reports its error.
func callRsh(req rsh.Request, err error) int {
	if errors.Is(err, rsh.ErrVersion) {
		fmt.Fprintf(os.Stderr, "muster agent %s as ssh, no OpenSSH\n", build.Version())
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
	const failed = 1 // exit code of pdsh when it fails itself
	job, err := pdsh.Parse(args, os.Getenv, os.Stdin)
	switch {
	case errors.Is(err, pdsh.ErrHelp):
		return show(pdsh.Help)
	case errors.Is(err, rsh.ErrVersion):
		return show(fmt.Sprintf("muster agent %s as pdsh\nrcmd modules: ssh (default: ssh)\n", build.Version()))
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
	host, _ := os.Hostname() // only for error messages
	return pdsh.Run(socket, job, pdsh.Output{Name: "pdsh@" + host, Out: os.Stdout, Err: os.Stderr, Own: stderr("error")})
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

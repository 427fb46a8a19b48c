package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/names"
)

const (
	attachHelp = `Usage:
  agent attach
  agent attach NAME        a shell in a pod of the job NAME: agent-launcher does that

Without NAME the bridge that the launcher runs in a worker through pods/exec. Not for people.
`
	readyHelp = `Usage:
  agent ready

Asks the worker of this container whether it serves, as a readiness probe. Exits
with 0 if it does, and with 1 if there is no worker, if it does not answer within
5 s, or if it is about to end. A launcher needs no probe: it asks by itself.
In a launcher it exits with 1 while the run hangs, and for a moment after a restart.
`
	installHelp = `Usage:
  agent install DIR

Copies the agent, and agent-launcher if it lies beside it, into DIR: an init
container that does so brings Muster into images that lack it.

Example:
  command: ["/agent", "install", "/muster"]
`
)

func runAttach(args []string) int {
	if len(args) > 0 && args[0] != "-h" && args[0] != "--help" {
		return handOver(append([]string{"attach"}, args...))
	}
	if code, ok := parse(newFlags("attach"), attachHelp, args, 0, 0); !ok {
		return code
	}
	runtime.GOMAXPROCS(1) // as in the worker
	if err := worker.Attach(); errors.Is(err, worker.ErrNoWorker) {
		return complain(names.ExitNoWorker, fmt.Errorf("attach: %w", err))
	} else if err != nil {
		return complain(names.ExitTransport, fmt.Errorf("attach: %w", err))
	}
	return 0
}

func runReady(args []string) int {
	if code, ok := parse(newFlags("ready"), readyHelp, args, 0, 0); !ok {
		return code
	}
	if err := worker.Ready(); err != nil {
		way := ""
		if errors.Is(err, worker.ErrNoWorker) {
			way = "it answers in a container whose command is `agent worker`, as the same user"
		}
		return complainWith(1, way, fmt.Errorf("ready: %w", err))
	}
	return 0
}

func runInstall(args []string) int {
	fs := newFlags("install")
	if code, ok := parse(fs, installHelp, args, 1, 1); !ok {
		return code
	}
	written, err := worker.Install(fs.Arg(0))
	for _, path := range written {
		fmt.Fprintln(stderr("info"), "agent: wrote "+path)
	}
	if err != nil {
		return complain(1, err)
	}
	return 0
}

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
  agent attach NAME        open a shell in a pod of job NAME (needs agent-launcher)

Without NAME: internal. The launcher calls it in a worker through pods/exec.
`
	readyHelp = `Usage:
  agent ready

Readiness probe of a worker. Exits with 0 if the worker in this container is ready,
and with 1 if there is none, if it does not answer within 5 s, or if it is stopping.
The probe is optional: launchers check their workers themselves.
In a launcher it exits with 1 while the run hangs, and briefly after a restart.
`
	installHelp = `Usage:
  agent install DIR

Copies the agent into DIR, and also agent-launcher and agent-exporter if they are in
the same directory.
Use it in an init container, for images that lack Muster.

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
			way = "run it as the same user, in a container whose command is `agent worker`"
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

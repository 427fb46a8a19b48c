package main

import (
	"os"

	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/names"
)

const layHelp = `Usage:
  agent lay < REQUEST

Writes small files to a private directory of this worker. Internal: the launcher
calls it in a session.
`

func runLay(args []string) int {
	if code, ok := parse(newFlags("lay"), layHelp, args, 0, 0); !ok {
		return code
	}
	if err := worker.Lay(os.Stdin, os.Stdout); err != nil {
		return complain(names.ExitNotRunable, err)
	}
	return 0
}

package main

import (
	"os"

	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/names"
)

const layHelp = `Usage:
  agent lay < REQUEST

Lays small files into a private directory of this worker. The launcher runs it
in a session. Not for people.
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

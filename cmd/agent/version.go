package main

import (
	"encoding/json"
	"fmt"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

const versionHelp = `Usage:
  agent version [-o json]

Prints the version, the commit and the range of protocols, like agent --version.
`

// runVersion is `agent version` if there is no agent-launcher.
func runVersion(args []string) int {
	fs := newFlags("version")
	output := fs.String("o", "", "")
	fs.StringVar(output, "output", "", "")
	if code, ok := parse(fs, versionHelp, args, 0, 0); !ok {
		return code
	}
	i := build.Identify("agent", wire.ProtoMin, wire.ProtoMax)
	switch *output {
	case "":
		return show(fmt.Sprintf("agent %s\n", i))
	case "json":
		text, err := json.MarshalIndent(i, "", "  ")
		if err != nil {
			return complain(names.ExitBug, fmt.Errorf("encode version: %w", err))
		}
		return show(string(text) + "\n")
	}
	return complainOf(failure.OneOf("-o", *output, "json"))
}

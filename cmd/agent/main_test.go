//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/suite/program"
)

// bin is the path of the agent, which is built once, with the race detector if $MUSTER_RACE is set.
var bin string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "agent")
	var flags []string
	if os.Getenv("MUSTER_RACE") != "" {
		flags = append(flags, "-race")
	}
	if err := program.Own(dir, flags, "agent"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

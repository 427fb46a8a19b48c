//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
	race := "-race=false"
	if os.Getenv("MUSTER_RACE") != "" {
		race = "-race"
	}
	if out, err := exec.Command("go", "build", race, "-o", bin, ".").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build agent: %w\n%s", err, out)
	}
	return m.Run(), nil
}

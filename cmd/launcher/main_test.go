package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/musterhq/muster/test/suite/program"
)

// bin is the directory of the real binaries, agent, agent-launcher and agent-exporter, which are built once.
var bin string

// release is the version of the binaries in bin. The linker sets it, as in a release.
const (
	module  = "github.com/musterhq/muster/"
	release = "v0.0.1-test"
)

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildAndRun builds the binaries and runs the tests. The binaries have the race detector only if
// $MUSTER_RACE is set: building with it takes half a minute, and the packages have their own tests
// under it.
func buildAndRun(m *testing.M) (int, error) {
	// The tests mostly wait, so many can run at once.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "muster")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	flags := []string{"-ldflags=-s -w -X " + module + "exec/build.release=" + release}
	if os.Getenv("MUSTER_RACE") != "" {
		flags = append(flags, "-race")
	}
	if err := program.Own(dir, flags, "agent", "agent-launcher", "agent-exporter"); err != nil {
		return 0, err
	}
	bin = dir
	return m.Run(), nil
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("BIN", bin)
			env.Setenv("MUSTER_DIR", filepath.Join(env.WorkDir, "r"))
			env.Setenv("MUSTER_TERMINATION_LOG", filepath.Join(env.WorkDir, "termination-log"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			path, ok := strings.CutPrefix(cond, "exists:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, err := os.Stat(path)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": expectCode},
	})
}

// expectCode implements `code N CMD...`: CMD must exit with code N.
func expectCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *osexec.ExitError
	got := 0
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// outage waits for the duration of a simulated outage of the API server, which must be longer than
// the pause between two attempts to reach the server.
func outage() { time.Sleep(2 * time.Second) }

package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// mainEnv is the variable that makes the test binary run as the controller.
const mainEnv = "CONTROLLER_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestHelpSucceeds checks the exit code of the program: --help is no error.
func TestHelpSucceeds(t *testing.T) {
	for flag, want := range map[string]int{"--help": 0, "-h": 0, "--nosuch": names.ExitUsage} {
		cmd := exec.Command(os.Args[0], flag)
		cmd.Env = []string{mainEnv + "=1"}
		out, _ := cmd.Output() // the exit code is in cmd.ProcessState
		require.Equal(t, want, cmd.ProcessState.ExitCode(), flag)
		require.Equal(t, want == 0, len(out) > 0, "%s: help goes to stdout, errors do not", flag)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
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

// TestJSON checks that with MUSTER_LOG_FORMAT=json each line on stderr is an object with time, level and msg.
func TestJSON(t *testing.T) {
	for name, args := range map[string][]string{"wrong flag": {"--nosuch"}, "no cluster": {"--metrics-addr=0", "--probe-addr=0"}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = []string{mainEnv + "=1", "MUSTER_LOG_FORMAT=json", "KUBECONFIG=/nowhere"}
			var said bytes.Buffer
			cmd.Stderr = &said
			require.Error(t, cmd.Run())
			require.NotEmpty(t, said.String())
			for line := range strings.Lines(said.String()) {
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &object), line)
				for _, key := range []string{"time", "level", "msg"} {
					require.Contains(t, object, key, line)
				}
			}
		})
	}
}

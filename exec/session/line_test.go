//go:build linux

package session

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandOf checks that the worker starts an MPI daemon directly, and that the shell runs every
// other line.
func TestCommandOf(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"orted", "prted", "hydra_bstrap_proxy", "worker"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(bin, "hydra_pmi_proxy"), nil, 0o644))
	env := []string{"PATH=" + bin + ":/usr/bin:/bin"}
	for line, own := range map[string][]string{
		"orted -mca ess 'env' -mca x \"a b\"":                                    {"orted", "-mca", "ess", "env", "-mca", "x", "a b"},
		"PATH=/usr/bin:$PATH ; export PATH ; X=1 ; export X ; " + bin + "/prted": {bin + "/prted"},
		bin + "/hydra_bstrap_proxy --x 1":                                        {bin + "/hydra_bstrap_proxy", "--x", "1"},
		bin + "/hydra_pmi_proxy":                                                 nil, // not executable: the shell reports it
		"/no/such/orted":                                                         nil,
		"PATH=/no/such ; export PATH ; orted":                                    nil,
		"cd / ; orted":                                                           nil,
		"orted; true":                                                            nil,
		"orted | cat":                                                            nil,
		"worker":                                                                 nil,
		"":                                                                       nil,
	} {
		c, err := commandOf(line, env, bin)
		require.NoError(t, err)
		if own == nil {
			own = []string{posixShell, "-c", line}
		}
		require.Equal(t, own, c.Argv, line)
		if strings.Contains(line, "X=1") {
			require.Subset(t, c.Env, []string{"PATH=/usr/bin:" + bin + ":/usr/bin:/bin", "X=1"})
		}
	}
}

// TestLinesLongerThanAWord checks that a line means the same to the shell at any length. execve
// would refuse these lines as one word.
func TestLinesLongerThanAWord(t *testing.T) {
	require.Equal(t, []string{"/bin/sh", "-c", "a b"}, shellArgv("a b"))
	for _, size := range []int{maxWord, maxWord + 1, 200 << 10, 1 << 20} {
		// The line is cut at quotes, newlines and bytes that are not UTF-8.
		noise := strings.Repeat("'a\\\"$1`\n\xff\u00e4 ", size/10)
		quoted := "'" + strings.ReplaceAll(noise, "'", `'\''`) + "'"
		argv := shellArgv("cat\necho $0 $#\nprintf %s " + quoted + "\nexit 7")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdin, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH")}, strings.NewReader("stdin\n"), os.Stderr
		out, err := cmd.Output()
		require.Equal(t, 7, cmd.ProcessState.ExitCode(), "%v", err)
		require.True(t, bytes.Equal([]byte("stdin\n/bin/sh 0\n"+noise), out), "%d bytes of %d", len(out), len(noise))
	}
}

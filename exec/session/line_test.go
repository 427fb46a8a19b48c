//go:build linux

package session

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line means the same to the shell however long it is; execve would refuse
// these as one word.
func TestLinesLongerThanAWord(t *testing.T) {
	require.Equal(t, []string{"/bin/sh", "-c", "a b"}, shellArgv("a b"))
	for _, size := range []int{maxWord, maxWord + 1, 200 << 10, 1 << 20} {
		// Quotes, newlines and bytes that are no UTF-8 fall on any place of a cut.
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

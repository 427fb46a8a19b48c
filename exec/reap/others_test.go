//go:build linux

package reap

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOthers checks that the environment of a process is read once for each program. A process without a mark is found
// when it runs another program with the mark of the session.
func TestOthers(t *testing.T) {
	r := running(t)
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	p, err := r.Start(Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", "read x; MARK_OF_TEST=s1 exec sh -c 'read y'"},
		Env: []string{"PATH=/bin", "A=b"}, Files: []*os.File{in}})
	require.NoError(t, err)
	in.Close()
	tree := NewTree("MARK_OF_TEST", "s1")
	has := func() bool {
		found, err := tree.Find()
		require.NoError(t, err)
		for _, f := range found {
			if f.PID == p.PID() {
				return true
			}
		}
		return false
	}
	require.False(t, has())
	require.Eventually(t, func() bool { // when sh has been loaded
		require.False(t, has())
		for id, e := range tree.table.environs {
			if id.pid == p.PID() && e.comm == "sh" {
				return true
			}
		}
		return false
	}, 5*time.Second, time.Millisecond)
	require.False(t, has())

	_, err = out.WriteString("\n")
	require.NoError(t, err)
	require.Eventually(t, has, 5*time.Second, time.Millisecond)
}

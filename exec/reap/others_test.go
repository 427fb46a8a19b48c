//go:build linux

package reap

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOthers checks that the environment of a process of somebody else is read once. Such a process is found when it
// runs another program with the mark of the session.
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
	own := Proc{}
	require.Eventually(t, func() bool { // when sh has been loaded
		require.False(t, has())
		procs, err := Scan("MARK_OF_TEST")
		require.NoError(t, err)
		for _, q := range procs {
			if q.PID == p.PID() {
				own = q
			}
		}
		tree.mu.Lock()
		defer tree.mu.Unlock()
		return tree.isOther(own)
	}, 5*time.Second, time.Millisecond)
	require.False(t, has())

	_, err = out.WriteString("\n")
	require.NoError(t, err)
	require.Eventually(t, has, 5*time.Second, time.Millisecond)
}

//go:build linux

package reap

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnvironDuringExec reads the environment of a process that loads a program again and again.
// The whole environment is there each time, also if it needs more than one read.
func TestEnvironDuringExec(t *testing.T) {
	for name, length := range map[string]int{"short": 10, "long": 20_000} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "again")
			require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700))
			padding := "PADDING=" + strings.Repeat("x", length)
			r := running(t)
			p, err := r.Start(Spec{Path: script, Argv: []string{script}, Setsid: true,
				Env: []string{padding, markEnv + "=s1"}, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
			require.NoError(t, err)
			defer func() {
				require.NoError(t, p.Signal(9))
				p.Status()
			}()
			var buf bytes.Buffer
			short := 0
			const reads = 5_000
			for range reads {
				require.NoError(t, Environ(p.PID(), &buf))
				if lookup(buf.Bytes(), markEnv) != "s1" {
					short++
				}
			}
			require.Zero(t, short, "incomplete environments in %d reads", reads)
		})
	}
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/proc"
)

// TestCleanUpEndsWhatHangs covers MPIs that hang by themselves. Without cleanUp, their cells would never end.
func TestCleanUpEndsWhatHangs(t *testing.T) {
	r := &running{bench: bench{dir: t.TempDir()}, mark: newMark(), bare: true, out: proc.NewOutput(), ended: make(chan struct{}),
		column: column{mpirun: "sh"}, event: event{args: func(column) []string { return []string{"-c", "sleep 1000 & wait"} }}}
	require.NoError(t, r.start())
	r.cleanUp()
	require.Empty(t, proc.Marked(r.mark))
}

//go:build linux

package reap

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTableShares checks that calls during a scan share the next one, and get a marker if one of them needs it.
func TestTableShares(t *testing.T) {
	table := NewTable("PATH")
	self := func(procs []Proc) Proc {
		return procs[slices.IndexFunc(procs, func(p Proc) bool { return p.PID == os.Getpid() })]
	}
	var scans [3]chan []Proc
	start := func(i int, known func(Proc) bool) {
		scans[i] = make(chan []Proc, 1)
		go func() {
			procs, _ := table.scan(known) // nil fails below
			scans[i] <- procs
		}()
	}
	scanning, goOn := make(chan struct{}), make(chan struct{})
	start(0, func(p Proc) bool {
		if p.PID == os.Getpid() {
			close(scanning)
			<-goOn
		}
		return true
	})
	<-scanning
	start(1, func(Proc) bool { return true })
	start(2, func(Proc) bool { return false })
	require.Eventually(t, func() bool {
		table.mu.Lock()
		defer table.mu.Unlock()
		return table.next != nil && len(table.next.known) == 2
	}, 5*time.Second, time.Millisecond)
	close(goOn)
	first, second, third := <-scans[0], <-scans[1], <-scans[2]
	require.Empty(t, self(first).Marker, "nobody needed it")
	require.NotEmpty(t, self(second).Marker, "the third needed it")
	require.Same(t, &second[0], &third[0])
	require.NotSame(t, &first[0], &second[0])

	procs, err := table.scan(func(Proc) bool { return true })
	require.NoError(t, err)
	require.Equal(t, self(second).Marker, self(procs).Marker, "it was read before")
}

// TestReaperHasOneTable checks that all trees of a program share a table for each variable.
func TestReaperHasOneTable(t *testing.T) {
	r := New()
	require.Same(t, r.Table("A"), r.Table("A"))
	require.NotSame(t, r.Table("A"), r.Table("B"))
}

//go:build linux

package reap

import (
	osexec "os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEndsAreReportedInOrder checks that ends are reported in order, including those of processes
// that ended before Follow started. The end of a released process is not reported.
func TestEndsAreReportedInOrder(t *testing.T) {
	ends, err := NewEnds()
	require.NoError(t, err)
	const many = 20
	told := make(chan int, many)
	var all []*osexec.Cmd
	for i := range many {
		cmd := osexec.Command("sleep", "60")
		require.NoError(t, cmd.Start())
		p := OpenPidfd(cmd.Process.Pid)
		require.NotNil(t, p)
		require.NoError(t, ends.Add(p, func() { told <- i }))
		if i == 7 {
			p.Close()
		} else {
			t.Cleanup(p.Close)
		}
		all = append(all, cmd)
	}
	var want []int
	for _, i := range []int{3, 19, 0, 7, 12, 1, 18, 5, 2, 4, 6, 17, 8, 16, 9, 15, 10, 14, 11, 13} {
		require.NoError(t, all[i].Process.Kill())
		require.Error(t, all[i].Wait())
		if i != 7 {
			want = append(want, i)
		}
	}
	over := make(chan struct{})
	go func() { defer close(over); ends.Follow() }()
	for _, i := range want {
		select {
		case got := <-told:
			require.Equal(t, i, got)
		case <-time.After(10 * time.Second):
			t.Fatalf("the end of process %d was not reported", i)
		}
	}
	ends.Close()
	<-over
	require.Empty(t, told)
	require.Empty(t, ends.told)
}

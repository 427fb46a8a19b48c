//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPreemption checks that TERM to a pod uses up no restart, and that the job waits for the
// replacement.
func TestPreemption(t *testing.T) {
	for _, rank := range []int{1, 0} {
		t.Run(same("rank %d", rank), func(t *testing.T) {
			g := newGang(t, 2, `trap 'echo saved > $SHARED/checkpoint-$RANK; exit 3' TERM; `+twoAttempts, "--max-restarts=1")
			pods := g.startAll()
			require.Eventually(t, func() bool { return lines(g.file("started")) == 1 }, patience, 10*time.Millisecond)
			pods[rank].signal(syscall.SIGTERM)
			require.Equal(t, 143, pods[rank].code(), "%s", pods[rank].out)
			require.NotEmpty(t, g.file(same("checkpoint-%d", rank)))
			if rank == 0 {
				g.knocked(1)
			} else {
				pods[0].says("attempt 2 of 3: ")
			}
			all(t, []*pod{pods[1-rank], g.start(rank)}, 0)
			require.Contains(t, pods[1-rank].out.String(), "attempt 2 of 3: ", "the attempt does not count as a restart")
			require.Contains(t, pods[1-rank].out.String(), "told to stop from outside")
		})
	}
}

// TestPreemptionLetsAllSave checks that all ranks are told to stop at once, because ranks that save
// together need each other.
func TestPreemptionLetsAllSave(t *testing.T) {
	for rank := range 2 {
		t.Run(same("rank %d", rank), func(t *testing.T) {
			g := newGang(t, 2, `trap 'asked=1' TERM; echo up >> $SHARED/up; while [ -z "$asked" ]; do sleep 0.05; done
				echo asked >> $SHARED/asked; while [ $(wc -l < $SHARED/asked) != 2 ]; do sleep 0.05; done; echo saved >> $SHARED/saved`, "--grace=20s")
			pods := g.startAll()
			require.Eventually(t, func() bool { return lines(g.file("up")) == 1 }, patience, 10*time.Millisecond)
			pods[rank].signal(syscall.SIGTERM)
			require.Equal(t, 143, pods[rank].code(), "%s", pods[rank].out)
			if rank == 0 {
				require.Eventually(t, func() bool { return lines(g.file("saved")) == 1 }, patience, 10*time.Millisecond)
				return // the other member waits for the replacement
			}
			require.NotZero(t, pods[0].code())
			require.Equal(t, 1, lines(g.file("saved")), "%s", pods[0].out)
			require.Contains(t, pods[0].out.String(), "agent: rank 1 on job-1 was told to stop: stopping the other ranks, up to 20 s for saving\n")
		})
	}
}

func TestPreemptionWithoutRestarts(t *testing.T) {
	g := newGang(t, 2, twoAttempts)
	pods := g.startAll()
	require.Eventually(t, func() bool { return lines(g.file("started")) == 1 }, patience, 10*time.Millisecond)
	pods[1].signal(syscall.SIGTERM)
	require.Equal(t, 143, pods[1].code())
	require.NotZero(t, pods[0].code())
	require.Contains(t, pods[0].out.String(), "rank 1 on job-1 was ended because its worker was told to stop from outside")
}

// TestTermAfterTheEnd tells a pod to stop while its member stops what a finished job has left behind.
// The end of the job counts, and no replacement is needed.
func TestTermAfterTheEnd(t *testing.T) {
	for rank := range 2 {
		t.Run(same("rank %d", rank), func(t *testing.T) {
			g := newGang(t, 2, same(`[ $RANK = %d ] || exit 0
				(trap 'echo >> $SHARED/asked; while [ ! -e $SHARED/go ]; do sleep 0.05; done; exit' TERM; echo > $SHARED/up; while true; do sleep 0.05; done) &
				while [ ! -e $SHARED/up ]; do sleep 0.05; done`, rank))
			pods := g.startAll()
			require.Eventually(t, func() bool { return len(g.files("asked")) == 1 }, patience, 10*time.Millisecond)
			pods[rank].signal(syscall.SIGTERM)
			require.NoError(t, os.WriteFile(filepath.Join(g.dir, "go"), nil, 0o644))
			all(t, pods, 0)
		})
	}
}

// TestTermWhileAProgramHangs checks that a member ends when it is told to stop while the file system
// of its program does not answer. A lease of the file (fcntl(2)) takes its place: each open waits for
// the end of the lease.
func TestTermWhileAProgramHangs(t *testing.T) {
	for rank := range 2 {
		t.Run(same("rank %d", rank), func(t *testing.T) {
			g := newGang(t, 2, `sleep 1000`, "--grace=5s")
			g.program = filepath.Join(g.dir, "program")
			program, err := os.ReadFile("/bin/true")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(g.program, program, 0o755))
			hangs := g.start(rank)
			if rank == 0 {
				require.Eventually(t, func() bool {
					c, err := net.Dial("tcp", g.address)
					return err == nil && c.Close() == nil
				}, patience, 5*time.Millisecond)
			} else {
				g.knocked(1)
			}
			fd, err := unix.Open(g.program, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			require.NoError(t, err)
			defer unix.Close(fd)
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
				t.Skipf("no leases here: %v", err)
			}
			g.program = ""
			other := g.start(1 - rank)
			require.Eventually(t, func() bool {
				lease, err := unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
				return err == nil && lease != unix.F_WRLCK
			}, patience, 5*time.Millisecond, "the program is not opened")
			began := time.Now()
			hangs.signal(syscall.SIGTERM)
			require.Equal(t, 143, hangs.code(), "%s", hangs.out)
			require.Less(t, time.Since(began), 20*time.Second, "the kernel ends the lease after 45 s")
			require.Equal(t, 143, other.code(), "%s", other.out)
		})
	}
}

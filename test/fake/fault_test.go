//go:build mpi

package fake

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// there and back: every byte goes to the worker and returns, while the link is
// cut again and again, or stands still.
func TestRawSessionsUnderFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   string
		bytes   int
		redials int // at least
	}{
		"64 MiB, cut every MiB":    {"drop every=1MiB", 64 << 20, 60},
		"8 MiB, cut every 256 KiB": {"drop every=256KiB", 8 << 20, 30},
		"a stall of 2 s":           {"stall after=100ms for=2s", 64 << 20, 0},
		"a stall beyond 12 s":      {"stall worker=1 after=100ms for=14s", 64 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := noise(t, c.bytes)
			file := filepath.Join(t.TempDir(), "noise")
			require.NoError(t, os.WriteFile(file, data, 0o644))
			sum := sha256.Sum256(data)
			o := run(t, agentRun(t, []string{"--fake=2", "--fake-fault", c.fault}, "sh", "-c",
				`agent rsh 127.0.0.3 cat <"$0" | sha256sum`, file))
			o.wants(t, 0)
			require.Equal(t, hex.EncodeToString(sum[:])+"  -\n", o.out)
			require.Equal(t, 1, o.report.Sessions)
			require.GreaterOrEqual(t, o.report.Redials, c.redials)
			require.Empty(t, o.report.Lost)
			t.Logf("%d redials in %d ms", o.report.Redials, o.report.RunMS)
		})
	}
}

// Twenty cuts of every link at random moments, from mpirun's start on.
func TestMPIUnderRandomCuts(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		seed := rand.Uint64()
		t.Logf("cuts of seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 2))
		flags := []string{"--fake=3", "--slots=2"}
		for range 20 {
			flags = append(flags, "--fake-fault", fmt.Sprintf("drop after=%dms", 1+random.IntN(1500)))
		}
		const count = 150 // lines of a rank, 10 ms apart: as long as the cuts
		o := run(t, agentRun(t, flags, f.mpirun, f.program("act"), "lines", fmt.Sprint(count), "10"))
		o.wants(t, 0)
		for rank := range 6 {
			var want []string
			for i := range count {
				want = append(want, fmt.Sprintf("rank %d line %d", rank, i))
			}
			var got []string
			for line := range strings.Lines(o.out) {
				if strings.HasPrefix(line, fmt.Sprintf("rank %d ", rank)) {
					got = append(got, strings.TrimSuffix(line, "\n"))
				}
			}
			require.Equal(t, want, got)
		}
		require.Equal(t, 3, o.report.Sessions, "a daemon was started twice, or not at all")
		require.Greater(t, o.report.Redials, 0)
		t.Logf("%d redials, gaps %v ms", o.report.Redials, o.report.GapsMS)
	})
}

// A worker that is gone ends the job: with 76, by name, within 10 s.
func TestKilledWorker(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, agentRun(t, []string{"--fake=3", "--fake-fault", "kill worker=2 after=1s"}, f.mpirun, f.program("act"), "wait"))
		require.Equal(t, 76, o.code)
		require.Len(t, o.report.Lost, 1, "%d ms after the kill: %s", o.report.RunMS-1000, tail(o.err))
		require.Equal(t, "127.0.0.4", o.report.Lost[0].Worker)
		require.Contains(t, o.err, "agent: worker 127.0.0.4 lost: its agent was killed by SIGKILL\n")
		require.Less(t, o.report.RunMS, int64(11_000), "1 s until the kill and 10 s after it")
		t.Logf("exit code %d, %d ms after the kill", o.code, o.report.RunMS-1000)
	})
}

// A worker that is lost is 76 whatever the launcher made of it: Open MPI says 205, MPICH
// 255, a script what it likes, and ranks that miss their peer end as they were written.
func TestKilledWorkerOfAnyLauncher(t *testing.T) {
	openmpi, mpich := "mpirun.openmpi "+families[0].program("act")+" wait", "mpiexec.mpich "+families[1].program("act")+" wait"
	t.Parallel()
	for name, argv := range map[string][]string{
		"Open MPI behind a shell":      {"bash", "-c", openmpi + "; exit $?"},
		"MPICH behind a shell":         {"bash", "-c", mpich + "; exit $?"},
		"a script's own code":          {"bash", "-c", openmpi + " || exit 3"},
		"a script that ignores it":     {"bash", "-c", openmpi + "; true"},
		"a remote shell":               {"agent", "rsh", "127.0.0.4", "sleep", "60"},
		"a launcher that sees nothing": {"sleep", "60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, agentRun(t, []string{"--fake=3", "--fake-fault", "kill worker=2 after=1s"}, argv...))
			require.Equal(t, 76, o.code, tail(o.err))
		})
	}
	for name, flags := range map[string][]string{
		"processes of ours":        {"--framework=plain", "--env=LINE=sleep 60"},
		"ranks that miss the peer": {"--framework=plain", "--env=LINE=sleep 1.2; exit 1"},
		"torch":                    {"--framework=torch", "--env=LINE=sleep 1.2; exit 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags = append([]string{"--fake=3", "--fake-fault", "kill worker=2 after=1s"}, flags...)
			o := run(t, agentRun(t, flags, "sh", "-c", `[ $RANK != 0 ] && exec sleep 60; eval "$LINE"`))
			require.Equal(t, 76, o.code, tail(o.err))
		})
	}
}

// MPI over links that stand still for a while.
func TestMPIUnderStall(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, agentRun(t, []string{"--fake=2", "--fake-fault", "stall after=1ms for=2s"}, f.mpirun, f.program("hello")))
		o.wants(t, 0)
		require.Equal(t, slots(1, 2), perWorker(t, ranks(t, o.out)))
	})
}

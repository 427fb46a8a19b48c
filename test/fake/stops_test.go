//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch"
	"github.com/musterhq/muster/test/suite/care"
)

// TestStopSaysHowRanksEnded: a stop says how many ranks it asks and how long they have, and
// afterwards how they have ended. The report has each.
func TestStopSaysHowRanksEnded(t *testing.T) {
	t.Parallel()
	const line = `touch up.$RANK; if [ $RANK = 1 ]; then trap "" TERM; else trap "sleep 1; exit 0" TERM; fi; while :; do sleep 0.1; done`
	for place, c := range map[string]struct {
		flags      []string
		ranks      int
		says, ends string
		want       []launch.StoppedRank
	}{
		"on workers": {[]string{"--fake=3", "--framework=plain", "--grace=3s"}, 3, "agent: SIGTERM: stopping 3 ranks, up to 3 s for saving; a second one kills at once\n",
			`agent: 2 of 3 ended by themselves after 1(\.\d)? s; rank 1 on 127\.0\.0\.3 was killed\n`,
			[]launch.StoppedRank{{Rank: "rank 0", Worker: "127.0.0.2", Seconds: 1, Killed: false}, {Rank: "rank 1", Worker: "127.0.0.3", Seconds: 3, Killed: true}, {Rank: "rank 2", Worker: "127.0.0.4", Seconds: 1, Killed: false}}},
		"on a worker, by default": {[]string{"--fake=1", "--framework=plain"}, 1, "agent: SIGTERM: stopping 1 rank, up to 10 s for saving (the default of --grace); a second one kills at once\n",
			`agent: rank 0 on 127\.0\.0\.2 ended by itself after 1(\.\d)? s\n`, []launch.StoppedRank{{Rank: "rank 0", Worker: "127.0.0.2", Seconds: 1, Killed: false}}},
		"in the launcher": {[]string{"--fake=1", "--grace=4s", "--env=RANK=0"}, 1, "agent: SIGTERM: stopping 1 rank, up to 4 s for saving; a second one kills at once\n",
			`agent: rank 0 ended by itself after 1(\.\d)? s\n`, []launch.StoppedRank{{Rank: "rank 0", Worker: "", Seconds: 1, Killed: false}}},
		"under torchrun": {[]string{"--fake=2", "--framework=torchrun", "--grace=6s"}, 4, "agent: SIGTERM: stopping torchrun on 2 workers, up to 6 s for saving; a second one kills at once\n",
			`agent: 3 of 4 ended by themselves after 1(\.\d)? s; rank 1 on 127\.0\.0\.2 was killed\n`,
			[]launch.StoppedRank{{Rank: "rank 0", Worker: "127.0.0.2", Seconds: 1, Killed: false}, {Rank: "rank 1", Worker: "127.0.0.2", Seconds: 6, Killed: true},
				{Rank: "rank 2", Worker: "127.0.0.3", Seconds: 1, Killed: false}, {Rank: "rank 3", Worker: "127.0.0.3", Seconds: 1, Killed: false}}},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := []string{"bash", "-c", line}
			if place == "under torchrun" {
				source, err := care.Source("torchrun.py")
				require.NoError(t, err)
				path := filepath.Join(t.TempDir(), "torchrun") // by this name it is known
				require.NoError(t, os.WriteFile(path, append([]byte("#!/usr/bin/python3\n"), source...), 0o755))
				command = append([]string{path, "2", "100"}, command...)
			}
			j := start(t, agentRun(t, append(c.flags, "--chdir", dir), command...))
			for rank := range c.ranks {
				require.Eventually(t, func() bool { return exists(dir, "up."+string(rune('0'+rank))) }, patience, 10*time.Millisecond)
			}
			time.Sleep(200 * time.Millisecond) // the traps are set
			j.signal(syscall.SIGTERM)
			o := j.wait()
			require.Contains(t, o.err, c.says)
			require.Regexp(t, c.ends, o.err)
			require.Len(t, o.report.Stopped, len(c.want))
			for _, want := range c.want {
				for _, one := range o.report.Stopped {
					if one.Rank == want.Rank {
						require.InDelta(t, want.Seconds, one.Seconds, 1.5)
						want.Seconds = one.Seconds
						require.Equal(t, want, one)
					}
				}
			}
		})
	}
}

// TestStopTellsMpirunAtOnce: mpirun ends the ranks that it has on workers, when none of them
// handles the signal.
func TestStopTellsMpirunAtOnce(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		j := start(t, agentRun(t, []string{"--fake=2", "--grace=20s"}, f.mpirun, "-n", "2", "sh", "-c", "echo up; exec sleep 4817"))
		j.out.await(t, "up\n")
		j.signal(syscall.SIGTERM)
		o := j.wait()
		o.wants(t, 143)
		require.Contains(t, o.err, "agent: SIGTERM: stopping "+f.mpirun+", up to 20 s for saving; a second one kills at once\n")
		require.Empty(t, o.report.Stopped)
		require.Less(t, o.took, 20*time.Second)
	})
}

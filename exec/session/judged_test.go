//go:build linux

package session

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// TestFailedRankOfASuccessfulLauncher checks which rank below a process is known to have failed
// when the process has ended. torchrun is a shell script here; real launchers are also scripts.
func TestFailedRankOfASuccessfulLauncher(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torchrun"), []byte("#!/bin/sh\neval \"$1\"\n"), 0o755))
	reaper := reap.New()
	ctx := t.Context()
	go func() { _ = reaper.Run(ctx) }()
	for name, tc := range map[string]struct {
		text string // script for torchrun
		want *wire.RankRecord
	}{
		"a rank failed":                   {`RANK=1 sh -c 'sleep 0.6; exit 3'; true`, &wire.RankRecord{Rank: "1", Code: 3}},
		"one of two failed":               {`RANK=0 sh -c 'sleep 0.6; true' & RANK=1 sh -c 'sleep 0.6; exit 4'; wait`, &wire.RankRecord{Rank: "1", Code: 4}},
		"its failure killed the other":    {`RANK=0 sh -c 'sleep 0.6; kill $$' & RANK=1 sh -c 'sleep 0.6; exit 4'; wait`, &wire.RankRecord{Rank: "1", Code: 4}},
		"all ranks succeeded":             {`RANK=1 sh -c 'sleep 0.6; true'`, nil},
		"a restarted rank succeeded":      {`RANK=1 sh -c 'sleep 0.6; exit 3'; RANK=1 sh -c 'sleep 0.6; true'`, nil},
		"a helper of a rank failed":       {`RANK=1 sh -c 'sh -c "sleep 0.6; exit 3"; true'`, nil},
		"a number that is too long":       {`RANK=` + strings.Repeat("1", 70_000) + ` sh -c 'sleep 0.6; exit 3'; true`, nil},
		"a process without a rank failed": {`sh -c 'sleep 0.6; exit 3'; true`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{Reaper: reaper, Log: slog.New(slog.DiscardHandler), Dir: "/"})
			x := s.newSession(wire.OpenRecord{ID: "x"})
			p, err := reaper.Start(reap.Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", dir + "/torchrun \"$1\"; true", "sh", tc.text}, Env: os.Environ(), Setsid: true})
			require.NoError(t, err)
			got := <-x.judge(p, true)
			s.wg.Wait()
			if got != nil {
				require.Regexp(t, `^sh \(pid \d+\)$`, got.Command)
				got.Command, got.Signal = "", 0
			}
			require.Equal(t, tc.want, got)
		})
	}
}

//go:build linux

package supervise

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/hang/hangtest"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/wire"
)

// outlasted supervises a group whose ranks may end, for span. It returns the output, and whether
// the supervisor decided to end the run.
func outlasted(t *testing.T, s *hangtest.Stage, account *tally.Tally, within, span time.Duration, happens func(r *Leftover, w *hang.Watch, second int)) (said string, ended bool) {
	out := &bytes.Buffer{}
	sup := &Supervisor{Subject: Subject{Name: "train", Group: true}, voice: &console.Voice{Out: out}, links: &fleet.Links{}, tally: account, Watches: Watches{Rest: NewLeftover(within)}}
	sup.cfg.Grace, sup.byHand = time.Second, func(_, command string) string { return command }
	sup.Hang = hang.NewWatch(0, func() map[string]hang.Asker {
		return map[string]hang.Asker{"1": hangtest.Worker{Stage: s, Name: "1"}, "2": hangtest.Worker{Stage: s, Name: "2"}}
	})
	sup.Hang.Begin()
	defer sup.Rest.end()
	began := time.Now()
	for second := 0; time.Since(began) < span; second++ {
		happens(sup.Rest, sup.Hang, second)
		step := time.After(time.Second)
		for waits := true; waits; {
			select {
			case <-sup.Rest.ended():
				sup.onFinished()
			case h := <-sup.Rest.tell():
				sup.onRest(h)
			case <-sup.Rest.due():
				ended = sup.onRestDue() || ended
			case <-step:
				waits = false
			}
		}
	}
	return out.String(), ended
}

// first makes rank 0 exit with 0 at second 10.
func first(r *Leftover, _ *hang.Watch, second int) {
	if second == 10 {
		r.Note("rank 0", true, false)
	}
}

// TestLeftoverIsReported checks that the remaining ranks are reported after a minute without work,
// and then at growing intervals.
func TestLeftoverIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, ended := outlasted(t, hangtest.New(), nil, 0, time.Hour, first)
		require.False(t, ended)
		require.Contains(t, said, "agent: rank 0 ended with 0 75 s ago, and no activity for 60 s; still running: 2 processes (--exit-within ends them)\nagent:   rank 1 on 1 (python, pid 2), rank 2 on 2 (python, pid 2): sleeps in recvfrom\nhint: its stack: py-spy dump --pid 2\n")
		require.Equal(t, 5, strings.Count(said, "still running"), said)
		require.Equal(t, 1, strings.Count(said, "hint: "))
	})
}

func TestWorkingLeftoverIsNotReported(t *testing.T) {
	for name, happens := range map[string]func(s *hangtest.Stage, r *Leftover, w *hang.Watch, second int){
		"the rest computes":   nil,
		"the rest prints":     func(_ *hangtest.Stage, _ *Leftover, w *hang.Watch, second int) { w.Wrote() },
		"no rank has ended":   func(_ *hangtest.Stage, r *Leftover, _ *hang.Watch, second int) {},
		"one rank has failed": func(_ *hangtest.Stage, r *Leftover, _ *hang.Watch, second int) { r.Note("rank 2", false, true) },
		"the rest reads data": func(s *hangtest.Stage, _ *Leftover, _ *hang.Watch, second int) {
			s.Change(func() { s.Moved["1"] += 1 << 20 })
		},
		"one rank is about to end": func(s *hangtest.Stage, _ *Leftover, _ *hang.Watch, second int) {
			s.Change(func() { s.Used["2"] += 500 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hangtest.New()
				if happens == nil {
					s.CPU["2"] = 1
				}
				said, ended := outlasted(t, s, nil, 0, 20*time.Minute, func(r *Leftover, w *hang.Watch, second int) {
					if name != "no rank has ended" {
						first(r, w, second)
					}
					if happens != nil {
						happens(s, r, w, second)
					}
				})
				require.Empty(t, said)
				require.False(t, ended)
			})
		})
	}
}

// TestLeftoverOfAnMpirun checks that only the latest mpirun counts, while it runs and after one of
// its ranks exited with 0.
func TestLeftoverOfAnMpirun(t *testing.T) {
	for name, row := range map[string]struct {
		within time.Duration
		ends   bool // the mpirun ends
		again  bool // a second mpirun starts, and its first rank ends
		want   string
		ended  bool
	}{
		"mpirun runs":                     {want: "agent: rank 0 ended with 0 75 s ago, and no activity for 60 s; still running: 2 processes (--exit-within ends them)\n"},
		"mpirun has ended":                {ends: true},
		"mpirun has ended, --exit-within": {ends: true, within: time.Minute},
		"mpirun runs, --exit-within":      {within: time.Minute, ended: true, want: "agent: rank 0 ended with 0 60 s ago, and its mpirun is still running; stopping train (--exit-within=1m), killing it after 1.0 s\n"},
		"a second mpirun runs":            {ends: true, again: true, want: "agent: rank 1 ended with 0 75 s ago, and no activity for 60 s; still running: 2 processes (--exit-within ends them)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				account, one, two := tally.New(), &mpirunOf{}, &mpirunOf{}
				account.Called("1", "s", one)
				said, ended := outlasted(t, hangtest.New(), account, row.within, 2*time.Minute, func(r *Leftover, w *hang.Watch, second int) {
					switch {
					case second == 0:
						account.HearDone(r.NoteDone)
					case second == 10:
						account.Report("1", wire.ReportRecord{Session: "s", Kind: wire.ReportDone, Rank: "0"})
					case second == 20 && row.ends:
						one.over = true
					case second == 21 && row.again:
						account.Called("1", "s", two)
						account.Report("1", wire.ReportRecord{Session: "s", Kind: wire.ReportDone, Rank: "1"})
					}
				})
				require.Equal(t, row.ended, ended)
				if row.want == "" {
					require.Empty(t, said)
					return
				}
				require.Equal(t, row.want, said[:strings.IndexByte(said, '\n')+1])
			})
		})
	}
}

// TestExitWithinEndsWorkingRanks checks that --exit-within ends the remaining ranks even if they
// work.
func TestExitWithinEndsWorkingRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		s.CPU["2"] = 1
		said, ended := outlasted(t, s, nil, 5*time.Minute, 6*time.Minute, first)
		require.True(t, ended)
		require.Equal(t, "agent: rank 0 ended with 0 300 s ago, and others are still running; stopping train (--exit-within=5m), killing it after 1.0 s\n", said)
	})
}

// mpirunOf is an mpirun that runs until over is set.
type mpirunOf struct{ over bool }

func (m *mpirunOf) Name() string                 { return "mpirun" }
func (m *mpirunOf) Is(other tally.Launcher) bool { return other == tally.Launcher(m) }
func (m *mpirunOf) Ended() bool                  { return m.over }
func (m *mpirunOf) Exit() (int, int, bool)       { return 0, 0, false }
func (m *mpirunOf) Kill()                        {}
func (m *mpirunOf) Close()                       {}

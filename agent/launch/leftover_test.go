//go:build linux

package launch

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/wire"
)

// outlasted runs a group of which ranks may end, for some time, and returns what is said
// and whether the run was to end.
func outlasted(t *testing.T, s *stage, within, span time.Duration, happens func(r *leftover, w *hangWatch, second int)) (said string, ended bool) {
	out := &bytes.Buffer{}
	sup := &supervisor{name: "train", voice: &console.Voice{Out: out}, links: &links{}, tally: s.account, group: true, rest: newLeftover(within)}
	sup.cfg.Fake, sup.cfg.Grace = 1, time.Second
	sup.hang = newHangWatch(0, func() map[string]asker { return map[string]asker{"1": seated{s, "1"}, "2": seated{s, "2"}} })
	sup.hang.begin()
	defer sup.rest.end()
	began := time.Now()
	for second := 0; time.Since(began) < span; second++ {
		happens(sup.rest, sup.hang, second)
		step := time.After(time.Second)
		for waits := true; waits; {
			select {
			case <-sup.rest.ended():
				sup.onFinished()
			case h := <-sup.rest.tell():
				sup.onRest(h)
			case <-sup.rest.due():
				ended = sup.onRestDue() || ended
			case <-step:
				waits = false
			}
		}
	}
	return out.String(), ended
}

// first lets rank 0 end with 0 at second 10.
func first(r *leftover, _ *hangWatch, second int) {
	if second == 10 {
		r.note("rank 0", true, false)
	}
}

// TestWhatIsLeftIsTold: after a minute without work, and then less and less often, until
// nobody waits any more.
func TestWhatIsLeftIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, ended := outlasted(t, newStage(), 0, time.Hour, first)
		require.False(t, ended)
		require.Contains(t, said, "agent: rank 0 ended with 0 75 s ago, and nothing has moved for 60 s; still there: 2 processes (--exit-within ends them)\nagent:   rank 1 on 1 (python, pid 2), rank 2 on 2 (python, pid 2): sleeps in recvfrom\nhint: its stack: py-spy dump --pid 2\n")
		require.Equal(t, 5, strings.Count(said, "still there"), said)
		require.Equal(t, 1, strings.Count(said, "hint: "))
	})
}

func TestWhatIsLeftWorks(t *testing.T) {
	for name, happens := range map[string]func(s *stage, r *leftover, w *hangWatch, second int){
		"it computes":         nil,
		"it prints":           func(_ *stage, _ *leftover, w *hangWatch, second int) { w.wrote() },
		"nobody has ended":    func(_ *stage, r *leftover, _ *hangWatch, second int) {},
		"one has failed":      func(_ *stage, r *leftover, _ *hangWatch, second int) { r.note("rank 2", false, true) },
		"it reads its data":   func(s *stage, _ *leftover, _ *hangWatch, second int) { s.change(func() { s.moved["1"] += 1 << 20 }) },
		"one came to its end": func(s *stage, _ *leftover, _ *hangWatch, second int) { s.change(func() { s.used["2"] += 500 }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				if happens == nil {
					s.cpu["2"] = 1
				}
				said, ended := outlasted(t, s, 0, 20*time.Minute, func(r *leftover, w *hangWatch, second int) {
					if name != "nobody has ended" {
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

// TestWhatIsLeftOfAnMpirun: the ranks of the latest one of which a rank has ended with 0,
// for as long as it runs.
func TestWhatIsLeftOfAnMpirun(t *testing.T) {
	for name, row := range map[string]struct {
		within time.Duration
		ends   bool // the mpirun does
		again  bool // a second one begins, and its first rank ends
		want   string
		ended  bool
	}{
		"it runs":                      {want: "agent: rank 0 ended with 0 75 s ago, and nothing has moved for 60 s; still there: 2 processes (--exit-within ends them)\n"},
		"it has ended":                 {ends: true},
		"it has ended, and is bounded": {ends: true, within: time.Minute},
		"it runs, and is bounded":      {within: time.Minute, ended: true, want: "agent: rank 0 ended with 0 60 s ago, and its mpirun is still there; stopping train (--exit-within=1m), 1.0 s to go before it is killed\n"},
		"a second one runs":            {ends: true, again: true, want: "agent: rank 1 ended with 0 75 s ago, and nothing has moved for 60 s; still there: 2 processes (--exit-within ends them)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				account, one, two := newTally(), &scripted{}, &scripted{}
				account.called("1", "s", one)
				stage := newStage()
				stage.account = account
				said, ended := outlasted(t, stage, row.within, 2*time.Minute, func(r *leftover, w *hangWatch, second int) {
					switch {
					case second == 0:
						account.hearDone(r.noteDone)
					case second == 10:
						account.report("1", wire.ReportRecord{Session: "s", Kind: wire.ReportDone, Rank: "0"})
					case second == 20 && row.ends:
						one.over = true
					case second == 21 && row.again:
						account.called("1", "s", two)
						account.report("1", wire.ReportRecord{Session: "s", Kind: wire.ReportDone, Rank: "1"})
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

// TestWhatIsLeftIsEnded: by --exit-within, though it works.
func TestWhatIsLeftIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.cpu["2"] = 1
		said, ended := outlasted(t, s, 5*time.Minute, 6*time.Minute, first)
		require.True(t, ended)
		require.Equal(t, "agent: rank 0 ended with 0 300 s ago, and others are still there; stopping train (--exit-within=5m), 1.0 s to go before it is killed\n", said)
	})
}

package hang

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/hang/hangtest"
	"github.com/musterhq/muster/exec/wire"
)

// standAndWatch runs a watch over n workers for span, and calls happens once a second. It returns
// what the watch reported, with the minute of each report.
func standAndWatch(t *testing.T, s *hangtest.Stage, n int, span time.Duration, happens func(w *Watch, second int)) (said []string) {
	t.Helper()
	w := NewWatch(10*time.Minute, func() map[string]Asker {
		all := map[string]Asker{}
		for i := range n {
			all[fmt.Sprint(i)] = hangtest.Worker{Stage: s, Name: fmt.Sprint(i)}
		}
		return all
	})
	w.Wary = s.Wary
	began := time.Now()
	w.Begin()
	for second := 0; time.Since(began) < span; second++ {
		if happens != nil {
			happens(w, second)
		}
		select {
		case h := <-w.Tell():
			word := "hang"
			switch {
			case h.Over:
				word = "over"
			case len(h.Unknown) > 0:
				word = "unknown"
			}
			said = append(said, fmt.Sprintf("%s %.1f", word, time.Since(began).Minutes()))
		case <-time.After(time.Second):
		}
	}
	w.End()
	return said
}

// TestHang checks that a hang is reported once, soon after the limit.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, []string{"hang 12.5"}, standAndWatch(t, hangtest.New(), 3, 4*time.Hour, nil))
	})
}

// TestSinceWhenItHangs checks that a report says when the run was last seen to do something: its last
// output, or the last look that showed work.
func TestSinceWhenItHangs(t *testing.T) {
	since := func(happens func(s *hangtest.Stage, w *Watch)) float64 {
		s, minutes := hangtest.New(), 0.0
		w := NewWatch(10*time.Minute, func() map[string]Asker { return map[string]Asker{"0": hangtest.Worker{Stage: s, Name: "0"}} })
		began := time.Now()
		w.Begin()
		time.Sleep(6 * time.Minute)
		happens(s, w)
		minutes = (<-w.Tell()).Since.Sub(began).Minutes()
		w.End()
		return minutes
	}
	synctest.Test(t, func(t *testing.T) {
		require.InDelta(t, 0, since(func(*hangtest.Stage, *Watch) {}), 1e-6)
		require.InDelta(t, 6, since(func(_ *hangtest.Stage, w *Watch) { w.Wrote() }), 1e-6)
		at := since(func(s *hangtest.Stage, _ *Watch) { s.Change(func() { s.Used["0"] += 1000 }) })
		require.GreaterOrEqual(t, at, 6.0)
		require.LessOrEqual(t, at, 8.5, "at the look after it")
	})
}

// TestNoHang checks that runs that are slow, silent or unusual, but do not hang, are not reported.
func TestNoHang(t *testing.T) {
	for name, row := range map[string]struct {
		set     func(s *hangtest.Stage)
		happens func(s *hangtest.Stage, w *Watch, second int)
	}{
		"output now and then": {happens: func(_ *hangtest.Stage, w *Watch, second int) {
			if second%540 == 0 {
				w.Wrote()
			}
		}},
		"a rank computes and prints nothing": {set: func(s *hangtest.Stage) { s.CPU["2"] = 1 }},
		"a rank computes a little":           {set: func(s *hangtest.Stage) { s.CPU["2"] = 0.02 }},
		"a rank computes for a second every nine minutes": {happens: func(s *hangtest.Stage, _ *Watch, second int) {
			if second%540 == 0 {
				s.Change(func() { s.Used["1"] += 1000 })
			}
		}},
		"a rank reads its data": {happens: func(s *hangtest.Stage, _ *Watch, second int) {
			s.Change(func() { s.Moved["1"] += 64 << 10 })
		}},
		"processes start and end": {happens: func(s *hangtest.Stage, _ *Watch, second int) {
			if second%400 == 0 {
				s.Change(func() { s.Extra = 1 - s.Extra })
			}
		}},
		"a debugger has stopped the ranks":       {set: func(s *hangtest.Stage) { s.State = "t" }},
		"the reader of our output does not read": {set: func(s *hangtest.Stage) { s.Wait = 100 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hangtest.New()
				if row.set != nil {
					row.set(s)
				}
				require.Empty(t, standAndWatch(t, s, 3, 6*time.Hour, func(w *Watch, second int) {
					if row.happens != nil {
						row.happens(s, w, second)
					}
				}))
			})
		})
	}
}

// TestHeartbeatsAreNoWork checks that threads that only check something from time to time do not
// count as progress.
func TestHeartbeatsAreNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		s.CPU["0"], s.CPU["1"] = 0.002, 0.004
		require.Equal(t, []string{"hang 12.5"}, standAndWatch(t, s, 3, time.Hour, nil))
	})
}

// TestHangIsOver checks that the end of a hang is reported, and that a second hang is reported too.
func TestHangIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, []string{"hang 12.5", "over 30.0", "hang 40.0"}, standAndWatch(t, hangtest.New(), 3, time.Hour, func(w *Watch, second int) {
			if second == 30*60 {
				w.Wrote()
			}
		}))
	})
}

// TestHangOfMany checks that one working rank is enough to rule out a hang, and that the watch then
// does not ask the other workers. While output arrives, the watch asks no worker.
func TestHangOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		s.CPU["77"] = 1
		require.Empty(t, standAndWatch(t, s, 200, 10*time.Hour, nil))
		require.InDelta(t, 10*60/2.5, s.Asked["77"], 2)
		require.LessOrEqual(t, s.Asked["76"], 2)
	})
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		require.Empty(t, standAndWatch(t, s, 3, time.Hour, func(w *Watch, second int) { w.Wrote() }))
		require.Empty(t, s.Asked)
	})
}

// TestNoVerdict checks that a worker that does not answer is reported once, and not as a hang.
func TestNoVerdict(t *testing.T) {
	for name, set := range map[string]func(s *hangtest.Stage){
		"down":               func(s *hangtest.Stage) { s.Err["1"] = errors.New("the link is down") },
		"too many processes": func(s *hangtest.Stage) { s.Left = 3 },
		"no answer":          func(s *hangtest.Stage) { s.Err["0"], s.Err["1"], s.Err["2"] = errNoAnswer, errNoAnswer, errNoAnswer },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hangtest.New()
				set(s)
				require.Equal(t, []string{"unknown 10.0"}, standAndWatch(t, s, 3, time.Hour, nil))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		s.Err["1"] = errors.New("the link is down")
		require.Equal(t, []string{"unknown 10.0", "hang 40.0"}, standAndWatch(t, s, 3, time.Hour, func(_ *Watch, second int) {
			if second == 29*60 {
				s.Change(func() { delete(s.Err, "1") }) // the watch asks it again at 30 min
			}
		}))
	})
}

// TestHangOfTheLaunch checks commands in the launcher that print, compute or wait.
func TestHangOfTheLaunch(t *testing.T) {
	for name, row := range map[string]struct {
		written func(since time.Duration) uint64
		cpu     float64
		want    []string
	}{
		"output now and then":  {written: func(d time.Duration) uint64 { return uint64(d / (9 * time.Minute)) }},
		"the command computes": {cpu: 1},
		"the command waits":    {want: []string{"hang 12.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWatch(10*time.Minute, func() map[string]Asker { return map[string]Asker{} })
				began := time.Now()
				w.own = func() (Scene, uint64, error) {
					p := wire.ProcessRecord{PID: 5, Start: 1, Command: "mpirun", State: "S", CPU: int64(float64(time.Since(began).Milliseconds()) * row.cpu)}
					s, written := Scene{at: time.Now(), actors: actorsOf("", []wire.ProcessRecord{p})}, uint64(0)
					if row.written != nil {
						written = row.written(time.Since(began))
					}
					return s, written, nil
				}
				var said []string
				w.Begin()
				for over := time.After(5 * time.Hour); over != nil; {
					select {
					case h := <-w.Tell():
						require.Len(t, h.Scenes, 1)
						said = append(said, fmt.Sprintf("hang %.1f", time.Since(began).Minutes()))
					case <-over:
						over = nil
					}
				}
				w.End()
				require.Equal(t, row.want, said)
			})
		})
	}
}

func TestHangWords(t *testing.T) {
	at := func(rank, command, state, call string, pid, parent int) wire.ProcessRecord {
		return wire.ProcessRecord{PID: pid, Parent: parent, Start: uint64(pid), Command: command, Rank: rank, State: state, Call: call}
	}
	scenes := map[string]Scene{
		"":    {actors: actorsOf("", []wire.ProcessRecord{at("", "mpirun", "S", "poll", 9, 1)})},
		"w-0": {actors: actorsOf("a", []wire.ProcessRecord{at("", "orted", "S", "poll", 7, 1), at("0", "sh", "S", "wait4", 8, 7), at("0", "python3", "S", "futex", 10, 8), at("0", "python3", "S", "read", 11, 10)})},
		"w-1": {actors: actorsOf("b", []wire.ProcessRecord{at("1", "python3", "S", "recvfrom", 20, 1), at("10", "python3", "S", "futex", 21, 1)})},
		"w-2": {actors: actorsOf("c", []wire.ProcessRecord{at("", "train", "D", "", 30, 1)})},
	}
	refused := scenes["w-2"].actors[0]
	refused.Process.Refused, refused.Process.Waiting = true, "nfs_wait"
	scenes["w-2"] = Scene{actors: []actor{refused}}
	list := Sitters(scenes, func(session string) string { return map[string]string{"c": "ps 0"}[session] })
	require.Equal(t, []string{
		"ps 0 on w-2 (train, pid 30): is in uninterruptible sleep, and its system call is not shown: not permitted (kernel: nfs_wait)",
		"rank 1 on w-1 (python3, pid 20): sleeps in recvfrom",
		"rank 0 on w-0 (python3, pid 10, and 1 more process of it), rank 10 on w-1 (python3, pid 21): sleeps in futex",
	}, Lines(list))

	for want, p := range map[string]wire.ProcessRecord{
		"rank 1 on w (cat, pid 9): sleeps in read":                                                            {},
		"rank 1 on w (cat, pid 9) waiting for 10.0.0.2:29500: sleeps in read":                                 {Peer: "10.0.0.2:29500"},
		"rank 1 on w (cat, pid 9) waiting for 10.0.0.2:29500, where no process listens: sleeps in read":       {Peer: "10.0.0.2:29500", PeerUnheard: true},
		"rank 1 on w (cat, pid 9) waiting for 10.0.0.2:29500 which has closed the connection: sleeps in read": {Peer: "10.0.0.2:29500", PeerClosed: true},
	} {
		p.PID, p.Command, p.Rank, p.State, p.Call = 9, "cat", "1", "S", "read"
		require.Equal(t, []string{want}, Lines([]Sitter{{Who: "rank 1", Worker: "w", Actor: actor{Process: p}}}))
	}

	only := map[string]Scene{"": scenes[""], "w-0": {}}
	require.Equal(t, []string{"mpirun in the launcher (mpirun, pid 9): sleeps in poll"}, Lines(Sitters(only, func(string) string { return "" })))

	many := map[string]Scene{}
	for i := range 1000 {
		many[fmt.Sprint(i)] = Scene{actors: actorsOf("", []wire.ProcessRecord{at(fmt.Sprint(i), "python3", "S", fmt.Sprintf("syscall %d", i%20), 2, 1)})}
	}
	lines := Lines(Sitters(many, func(string) string { return "" }))
	require.Len(t, lines, mostPlaces+1)
	require.Contains(t, lines[0], " and 42 more: sleeps in syscall")
	require.Equal(t, "and 8 more places where other ranks are", lines[mostPlaces])
}

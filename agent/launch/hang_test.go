//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/wire"
)

// stage is a run for a hangWatch to look at, in a synctest bubble.
type stage struct {
	mu    sync.Mutex
	began time.Time
	asked map[string]int
	cpu   map[string]float64 // share of a processor that each rank uses
	used  map[string]int64   // milliseconds of a processor besides
	moved map[string]int64   // bytes
	state string
	call  string // that each rank sits in
	wary  bool   // the watch is nobody's wish
	extra int    // processes that a worker tells of besides
	left  int
	wait  uint64 // output that is not read
	err   map[string]error

	account *tally // of the supervisor
}

func newStage() *stage {
	return &stage{began: time.Now(), asked: map[string]int{}, cpu: map[string]float64{}, used: map[string]int64{}, moved: map[string]int64{}, state: "S", call: "recvfrom", err: map[string]error{}}
}

// seated is the asker of one worker.
type seated struct {
	*stage
	name string
}

func (s seated) Ask(context.Context) (wire.AnswerRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[s.name]++
	if err := s.err[s.name]; err != nil {
		return wire.AnswerRecord{}, err
	}
	used := float64(time.Since(s.began).Milliseconds()) * s.cpu[s.name]
	list := []wire.ProcessRecord{
		{PID: 1, Start: 1, Command: "orted", State: "S", CPU: time.Since(s.began).Milliseconds()}, // a daemon may do as it likes
		{PID: 2, Start: 1, Parent: 1, Command: "python", Rank: s.name, State: s.state, CPU: int64(used) + s.used[s.name], Moved: s.moved[s.name], Call: s.call},
	}
	for i := range s.extra {
		list = append(list, wire.ProcessRecord{PID: 10 + i, Start: 1, Rank: s.name, State: "S"})
	}
	return wire.AnswerRecord{Left: s.left, Sessions: []wire.SessionRecord{{ID: "s", Unread: s.wait, Processes: list}}}, nil
}

// change alters the stage while the watch may look at it.
func (s *stage) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// standAndWatch runs a watch over n workers for some time, doing what happens says at
// each second; it gives what the watch said, and when.
func standAndWatch(t *testing.T, s *stage, n int, span time.Duration, happens func(w *hangWatch, second int)) (said []string) {
	t.Helper()
	w := newHangWatch(10*time.Minute, func() map[string]asker {
		all := map[string]asker{}
		for i := range n {
			all[fmt.Sprint(i)] = seated{s, fmt.Sprint(i)}
		}
		return all
	})
	w.wary = s.wary
	began := time.Now()
	w.begin()
	for second := 0; time.Since(began) < span; second++ {
		if happens != nil {
			happens(w, second)
		}
		select {
		case h := <-w.tell():
			word := "hang"
			switch {
			case h.over:
				word = "over"
			case len(h.unknown) > 0:
				word = "unknown"
			}
			said = append(said, fmt.Sprintf("%s %.1f", word, time.Since(began).Minutes()))
		case <-time.After(time.Second):
		}
	}
	w.end()
	return said
}

// TestHang: the report comes once, soon after the time.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, []string{"hang 12.5"}, standAndWatch(t, newStage(), 3, 4*time.Hour, nil))
	})
}

// TestNoHang are runs that are slow, silent or odd, and do not hang.
func TestNoHang(t *testing.T) {
	for name, row := range map[string]struct {
		set     func(s *stage)
		happens func(s *stage, w *hangWatch, second int)
	}{
		"output now and then": {happens: func(_ *stage, w *hangWatch, second int) {
			if second%540 == 0 {
				w.wrote()
			}
		}},
		"a rank computes and says nothing": {set: func(s *stage) { s.cpu["2"] = 1 }},
		"it computes a little":             {set: func(s *stage) { s.cpu["2"] = 0.02 }},
		"it computes for a second every nine minutes": {happens: func(s *stage, _ *hangWatch, second int) {
			if second%540 == 0 {
				s.change(func() { s.used["1"] += 1000 })
			}
		}},
		"a rank reads its data": {happens: func(s *stage, _ *hangWatch, second int) {
			s.change(func() { s.moved["1"] += 64 << 10 })
		}},
		"processes come and go": {happens: func(s *stage, _ *hangWatch, second int) {
			if second%400 == 0 {
				s.change(func() { s.extra = 1 - s.extra })
			}
		}},
		"a debugger is at work":        {set: func(s *stage) { s.state = "t" }},
		"our own reader does not read": {set: func(s *stage) { s.wait = 100 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				if row.set != nil {
					row.set(s)
				}
				require.Empty(t, standAndWatch(t, s, 3, 6*time.Hour, func(w *hangWatch, second int) {
					if row.happens != nil {
						row.happens(s, w, second)
					}
				}))
			})
		})
	}
}

// TestHeartbeatsAreNoWork: threads that only look now and then.
func TestHeartbeatsAreNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.cpu["0"], s.cpu["1"] = 0.002, 0.004
		require.Equal(t, []string{"hang 12.5"}, standAndWatch(t, s, 3, time.Hour, nil))
	})
}

// TestHangIsOver: what moves again is said, and a second hang is another one.
func TestHangIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, []string{"hang 12.5", "over 30.0", "hang 40.0"}, standAndWatch(t, newStage(), 3, time.Hour, func(w *hangWatch, second int) {
			if second == 30*60 {
				w.wrote()
			}
		}))
	})
}

// TestHangOfMany: one of them that works is enough, and nobody else is asked
// meanwhile; while output flows nobody is.
func TestHangOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.cpu["77"] = 1
		require.Empty(t, standAndWatch(t, s, 200, 10*time.Hour, nil))
		require.InDelta(t, 10*60/2.5, s.asked["77"], 2)
		require.LessOrEqual(t, s.asked["76"], 2)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		require.Empty(t, standAndWatch(t, s, 3, time.Hour, func(w *hangWatch, second int) { w.wrote() }))
		require.Empty(t, s.asked)
	})
}

// TestNoVerdict: a worker that cannot be asked is said, once, and is no hang.
func TestNoVerdict(t *testing.T) {
	for name, set := range map[string]func(s *stage){
		"down":      func(s *stage) { s.err["1"] = errors.New("its link is down") },
		"too many":  func(s *stage) { s.left = 3 },
		"not there": func(s *stage) { s.err["0"], s.err["1"], s.err["2"] = errNoAnswer, errNoAnswer, errNoAnswer },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				set(s)
				require.Equal(t, []string{"unknown 10.0"}, standAndWatch(t, s, 3, time.Hour, nil))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.err["1"] = errors.New("its link is down")
		require.Equal(t, []string{"unknown 10.0", "hang 40.0"}, standAndWatch(t, s, 3, time.Hour, func(_ *hangWatch, second int) {
			if second == 29*60 {
				s.change(func() { delete(s.err, "1") }) // asked at 30 min for the first time
			}
		}))
	})
}

// TestHangOfTheLaunch: the command in the launcher prints and computes, or does
// not.
func TestHangOfTheLaunch(t *testing.T) {
	for name, row := range map[string]struct {
		written func(since time.Duration) uint64
		cpu     float64
		want    []string
	}{
		"it prints now and then": {written: func(d time.Duration) uint64 { return uint64(d / (9 * time.Minute)) }},
		"it computes":            {cpu: 1},
		"it waits":               {want: []string{"hang 12.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHangWatch(10*time.Minute, func() map[string]asker { return map[string]asker{} })
				began := time.Now()
				w.own = func() (scene, uint64, error) {
					p := wire.ProcessRecord{PID: 5, Start: 1, Command: "mpirun", State: "S", CPU: int64(float64(time.Since(began).Milliseconds()) * row.cpu)}
					s, written := scene{at: time.Now(), actors: actorsOf("", []wire.ProcessRecord{p})}, uint64(0)
					if row.written != nil {
						written = row.written(time.Since(began))
					}
					return s, written, nil
				}
				var said []string
				w.begin()
				for over := time.After(5 * time.Hour); over != nil; {
					select {
					case h := <-w.tell():
						require.Len(t, h.scenes, 1)
						said = append(said, fmt.Sprintf("hang %.1f", time.Since(began).Minutes()))
					case <-over:
						over = nil
					}
				}
				w.end()
				require.Equal(t, row.want, said)
			})
		})
	}
}

func TestHangWords(t *testing.T) {
	at := func(rank, command, state, call string, pid, parent int) wire.ProcessRecord {
		return wire.ProcessRecord{PID: pid, Parent: parent, Start: uint64(pid), Command: command, Rank: rank, State: state, Call: call}
	}
	scenes := map[string]scene{
		"":    {actors: actorsOf("", []wire.ProcessRecord{at("", "mpirun", "S", "poll", 9, 1)})},
		"w-0": {actors: actorsOf("a", []wire.ProcessRecord{at("", "orted", "S", "poll", 7, 1), at("0", "sh", "S", "wait4", 8, 7), at("0", "python3", "S", "futex", 10, 8), at("0", "python3", "S", "read", 11, 10)})},
		"w-1": {actors: actorsOf("b", []wire.ProcessRecord{at("1", "python3", "S", "recvfrom", 20, 1), at("10", "python3", "S", "futex", 21, 1)})},
		"w-2": {actors: actorsOf("c", []wire.ProcessRecord{at("", "train", "D", "", 30, 1)})},
	}
	refused := scenes["w-2"].actors[0]
	refused.process.Refused, refused.process.Waiting = true, "nfs_wait"
	scenes["w-2"] = scene{actors: []actor{refused}}
	list := sitters(scenes, func(session string) string { return map[string]string{"c": "ps 0"}[session] })
	require.Equal(t, []string{
		"ps 0 on w-2 (train, pid 30): sleeps and cannot be woken, and its system call is not shown: not permitted (kernel: nfs_wait)",
		"rank 1 on w-1 (python3, pid 20): sleeps in recvfrom",
		"rank 0 on w-0 (python3, pid 10, and 1 more process of it), rank 10 on w-1 (python3, pid 21): sleeps in futex",
	}, hangLines(list))

	for want, p := range map[string]wire.ProcessRecord{
		"rank 1 on w (cat, pid 9): sleeps in read":                                                            {},
		"rank 1 on w (cat, pid 9) waiting for 10.0.0.2:29500: sleeps in read":                                 {Peer: "10.0.0.2:29500"},
		"rank 1 on w (cat, pid 9) waiting for 10.0.0.2:29500 where nobody listens: sleeps in read":            {Peer: "10.0.0.2:29500", PeerUnheard: true},
		"rank 1 on w (cat, pid 9) waiting for 10.0.0.2:29500 which has closed the connection: sleeps in read": {Peer: "10.0.0.2:29500", PeerClosed: true},
	} {
		p.PID, p.Command, p.Rank, p.State, p.Call = 9, "cat", "1", "S", "read"
		require.Equal(t, []string{want}, hangLines([]sitter{{who: "rank 1", worker: "w", actor: actor{process: p}}}))
	}

	only := map[string]scene{"": scenes[""], "w-0": {}}
	require.Equal(t, []string{"mpirun in the launcher (mpirun, pid 9): sleeps in poll"}, hangLines(sitters(only, func(string) string { return "" })))

	many := map[string]scene{}
	for i := range 1000 {
		many[fmt.Sprint(i)] = scene{actors: actorsOf("", []wire.ProcessRecord{at(fmt.Sprint(i), "python3", "S", fmt.Sprintf("syscall %d", i%20), 2, 1)})}
	}
	lines := hangLines(sitters(many, func(string) string { return "" }))
	require.Len(t, lines, mostPlaces+1)
	require.Contains(t, lines[0], " and 42 more: sleeps in syscall")
	require.Equal(t, "and 8 more places in which others sit", lines[mostPlaces])
}

func TestHangBeginsTheEnd(t *testing.T) {
	var e ending
	require.True(t, e.onHang(5*time.Second))
	require.False(t, e.onTrouble(time.Second, time.Second), "ranks that end now do so because of us")
	sig, ok := e.next()
	require.True(t, ok)
	require.Equal(t, "SIGTERM", phrase.SignalName(int(sig)))
	require.Equal(t, 5*time.Second, e.wait())
	told := ending{told: 15}
	require.False(t, told.onHang(time.Second))
}

package group

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

// cast returns a group of simulated processes. parts may be shorter than acts. The sessions of one
// process in three can report their ends, and those of another one say that they cannot.
func cast(parts []framework.Part, acts ...act) (Config, []*stage) {
	cfg := Config{Grace: 10 * time.Second, FailGrace: 5 * time.Second}
	var stages []*stage
	for i, a := range acts {
		s := newStage(a)
		p := Process{Label: fmt.Sprintf("rank %d", i), Worker: fmt.Sprintf("w-%d", i), Opener: s}
		if i%3 > 0 {
			p.Opener = reporting{stage: s, can: i%3 == 1}
		}
		if i < len(parts) {
			p.Part = parts[i]
			p.Role = fmt.Sprint("role of part ", parts[i], " at ", i)
		}
		cfg.Processes, stages = append(cfg.Processes, p), append(stages, s)
	}
	return cfg, stages
}

const (
	works   = framework.Works
	decides = framework.Decides
	serves  = framework.Serves
)

// TestGraceOfTheRest checks that the other processes get the full grace if a worker is being
// removed: the program did not fail, and processes may have work to save.
func TestGraceOfTheRest(t *testing.T) {
	slow := act{term: 8 * time.Second}
	for name, tc := range map[string]struct {
		first act
		calm  bool
		code  int // of the slow process, which shows whether it was killed
	}{
		"a failure":                             {act{after: time.Second, code: 1}, false, 137},
		"told to stop from outside":             {act{after: time.Second, reason: wire.ReasonPreempted}, false, 143},
		"a failure while another worker drains": {act{after: time.Second, code: 1}, true, 143},
		"a kill while another worker drains":    {act{after: time.Second, signal: syscall.SIGKILL}, true, 143},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := cast(nil, tc.first, slow)
				cfg.Calm = func() bool { return tc.calm }
				ends := map[int]int{}
				cfg.OnEnd = func(e End, _ bool) { ends[e.Process] = e.Exit.Code }
				r := New(cfg).Run(t.Context())
				require.NotNil(t, r.Cause)
				require.Equal(t, tc.code, ends[1])
			})
		})
	}
}

func TestOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		parts []framework.Part
		any   bool
		acts  []act
		code  int
		cause string // sentence of the cause; "" means no cause
		other int
		took  time.Duration
	}{
		"all succeed": {acts: []act{{after: time.Second}, {after: 3 * time.Second}}, took: 3 * time.Second},
		"one fails": {acts: []act{{}, {after: time.Second, code: 3}, {}}, code: 3, cause: "rank 1 on w-1 exited with 3",
			took: time.Second + settleTime},
		"one is killed by a signal": {acts: []act{{}, {after: time.Second, signal: syscall.SIGKILL}}, code: 137, cause: "rank 1 on w-1 was killed by SIGKILL",
			took: time.Second + settleTime},
		"one is killed for its memory": {acts: []act{{after: time.Second, signal: syscall.SIGKILL, oom: 1}}, code: 137,
			cause: "rank 0 on w-0 was killed by SIGKILL: the kernel killed a process there for its memory (OOM)", took: time.Second},
		"the others ignore TERM": {acts: []act{{stubborn: true}, {after: time.Second, code: 3}, {stubborn: true}}, code: 3,
			cause: "rank 1 on w-1 exited with 3", took: time.Second + settleTime + 5*time.Second},
		"the others fail after the first": {acts: []act{{after: 1300 * time.Millisecond, signal: syscall.SIGABRT}, {after: time.Second, code: 3}, {after: 1200 * time.Millisecond, code: 1}},
			code: 3, cause: "rank 1 on w-1 exited with 3", other: 2, took: 1300 * time.Millisecond},
		"an abort is reported before its cause": {acts: []act{{after: time.Second, signal: syscall.SIGABRT}, {after: 1100 * time.Millisecond, code: 3}},
			code: 3, cause: "rank 1 on w-1 exited with 3", other: 1, took: 1100 * time.Millisecond},
		"a peer's exit is collected before a kill": {acts: []act{{after: time.Second, code: 1}, {after: 1300 * time.Millisecond, signal: syscall.SIGKILL}, {}},
			code: 137, cause: "rank 1 on w-1 was killed by SIGKILL", other: 1, took: 2 * time.Second},
		"an abort alone": {acts: []act{{after: time.Second, signal: syscall.SIGABRT}, {}}, code: 134, cause: "rank 0 on w-0 was killed by SIGABRT",
			took: time.Second + settleTime},
		"the workers' clocks decide the order": {acts: []act{{after: time.Second, code: 1, at: 900 * time.Millisecond}, {after: 1500 * time.Millisecond, code: 4, at: 800 * time.Millisecond}},
			code: 4, cause: "rank 1 on w-1 exited with 4", other: 1, took: 1500 * time.Millisecond},
		"a worker's clock is ahead": {acts: []act{{after: time.Second, code: 3, at: time.Minute}, {after: 1200 * time.Millisecond, code: 1, at: 1200 * time.Millisecond}},
			code: 3, cause: "rank 0 on w-0 exited with 3", other: 1, took: 1200 * time.Millisecond},
		"a worker is lost": {acts: []act{{}, {after: time.Second, lost: errGone}}, code: names.ExitHopeless, cause: "rank 1 on w-1: worker w-1 lost: its node is gone",
			took: time.Second + settleTime},
		"a worker is lost after a peer has failed": {acts: []act{{after: time.Second, code: 1}, {after: 1500 * time.Millisecond, lost: errGone}}, code: names.ExitHopeless,
			cause: "rank 1 on w-1: worker w-1 lost: its node is gone", other: 1, took: 1500 * time.Millisecond},
		"preempted, with 0": {acts: []act{{after: time.Second, reason: wire.ReasonPreempted}, {}}, code: names.ExitHopeless,
			cause: "rank 0 on w-0 was ended because its worker was told to stop from outside", took: time.Second + settleTime},
		"cannot be opened": {acts: []act{{}, {refused: errors.New("its command and environment are too long")}}, code: names.ExitHopeless,
			cause: "rank 1 on w-1: its command and environment are too long", took: settleTime},

		"the chief decides": {parts: []framework.Part{decides, works, serves}, acts: []act{{after: time.Second}, {}, {}}, took: time.Second},
		"a worker after the chief does not count": {parts: []framework.Part{decides, works}, acts: []act{{after: time.Second}, {after: 1100 * time.Millisecond, code: 1, stubborn: true}},
			took: 1100 * time.Millisecond},
		"a worker just before the chief does not count": {parts: []framework.Part{decides, works}, acts: []act{{after: time.Second}, {after: 900 * time.Millisecond, code: 1}}, other: 1, took: time.Second},
		"a worker long before the chief counts": {parts: []framework.Part{decides, works}, acts: []act{{after: 5 * time.Second}, {after: time.Second, code: 7}}, code: 7,
			cause: "rank 1 on w-1 exited with 7", took: time.Second + settleTime},
		"two processes decide":           {parts: []framework.Part{decides, decides, works}, acts: []act{{after: time.Second}, {after: 2 * time.Second}, {}}, took: 2 * time.Second},
		"a server is stopped at the end": {parts: []framework.Part{works, serves}, acts: []act{{after: time.Second}, {term: 2 * time.Second}}, took: 3 * time.Second},
		"a server fails": {parts: []framework.Part{works, serves}, acts: []act{{}, {after: time.Second, code: 9}}, code: 9,
			cause: "rank 1 on w-1 exited with 9", took: time.Second + settleTime},
		"a server may end early": {parts: []framework.Part{works, serves}, acts: []act{{after: 3 * time.Second}, {after: time.Second}}, took: 3 * time.Second},

		"all are servers": {parts: []framework.Part{serves, serves}, acts: []act{{after: time.Second}, {after: 2 * time.Second}}, took: 2 * time.Second},

		"any: one success is enough":    {any: true, acts: []act{{after: 5 * time.Second}, {after: time.Second}, {after: 500 * time.Millisecond, code: 1}}, other: 1, took: 5 * time.Second},
		"any: the others get the grace": {any: true, acts: []act{{}, {after: time.Second}}, took: 11 * time.Second},
		"any: all fail": {any: true, acts: []act{{after: 4 * time.Second, code: 5}, {after: time.Second, code: 2}}, code: 2,
			cause: "rank 1 on w-1 exited with 2", other: 1, took: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, stages := cast(tc.parts, tc.acts...)
				cfg.Any = tc.any
				var told []Failure
				cfg.OnFailure = func(f Failure, _ int) { told = append(told, f) }
				ends, bad := 0, 0
				cfg.OnEnd = func(_ End, failed bool) {
					ends++
					if failed {
						bad++
					}
				}
				began := time.Now()
				result := New(cfg).Run(t.Context())
				require.Equal(t, tc.code, result.Code)
				require.Equal(t, tc.took, time.Since(began))
				require.Empty(t, result.Left)
				for i, s := range stages {
					require.False(t, s.refused == nil && s.end.IsZero(), "process %d still runs", i)
				}
				require.Equal(t, len(tc.acts), ends)
				if tc.cause == "" {
					require.Equal(t, tc.other, bad)
					require.Nil(t, result.Cause)
					require.Empty(t, told)
					return
				}
				require.Equal(t, tc.cause, result.Cause.Sentence())
				require.Equal(t, tc.other, result.Others)
				require.Len(t, told, 1)
				require.Equal(t, tc.other+1, bad)
			})
		})
	}
}

// TestStopInOrder checks that servers are stopped after the working processes, in the order of the
// processes. Adjacent processes with the same role are stopped together.
func TestStopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, s := cast([]framework.Part{serves, works, works, serves, serves}, act{term: time.Second}, act{after: time.Second}, act{after: 2 * time.Second},
			act{term: time.Second}, act{term: time.Second})
		cfg.Processes[0].Role, cfg.Processes[3].Role, cfg.Processes[4].Role = "node", "node", "head"
		began := time.Now()
		require.Zero(t, New(cfg).Run(t.Context()).Code)
		require.Equal(t, []time.Time{began.Add(2 * time.Second)}, s[0].stopped)
		require.Equal(t, []time.Time{began.Add(2 * time.Second)}, s[3].stopped)
		require.Equal(t, []time.Time{began.Add(3 * time.Second)}, s[4].stopped, "the head is stopped after the nodes")
	})
}

// TestFailureEndsSoon checks that a failure ends the run within ten seconds, even if processes
// ignore TERM.
func TestFailureEndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast([]framework.Part{works, works, serves, serves}, act{after: time.Second, code: 1}, act{stubborn: true}, act{stubborn: true}, act{stubborn: true})
		began := time.Now()
		require.Equal(t, 1, New(cfg).Run(t.Context()).Code)
		require.LessOrEqual(t, time.Since(began)-time.Second, 10*time.Second)
	})
}

func TestSignals(t *testing.T) {
	for name, tc := range map[string]struct {
		signals []syscall.Signal // one signal a second
		took    time.Duration
		graces  []time.Duration
	}{
		"TERM":          {[]syscall.Signal{syscall.SIGTERM}, 11 * time.Second, []time.Duration{10 * time.Second}},
		"INT":           {[]syscall.Signal{syscall.SIGINT}, 11 * time.Second, []time.Duration{10 * time.Second}},
		"TERM and KILL": {[]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, 2 * time.Second, []time.Duration{10 * time.Second, 0}},
		"KILL":          {[]syscall.Signal{syscall.SIGKILL}, time.Second, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, s := cast([]framework.Part{works, works}, act{stubborn: true}, act{term: time.Millisecond})
				g := New(cfg)
				began := time.Now()
				for i, sig := range tc.signals {
					time.AfterFunc(time.Duration(i+1)*time.Second, func() { g.Signal(sig) })
				}
				result := g.Run(t.Context())
				require.Equal(t, Result{Stopped: true}, result)
				require.Equal(t, tc.took, time.Since(began))
				require.Equal(t, tc.graces, s[0].graces)
			})
		})
	}
}

func TestOtherSignalsArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, s := cast(nil, act{after: 2 * time.Second}, act{after: 500 * time.Millisecond})
		g := New(cfg)
		time.AfterFunc(time.Second, func() { g.Signal(syscall.SIGUSR1) })
		require.Zero(t, g.Run(t.Context()).Code)
		require.Equal(t, []int{int(syscall.SIGUSR1)}, s[0].signals)
		require.Empty(t, s[1].signals, "the second process had already ended")
	})
}

func TestContextEndsTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast(nil, act{stubborn: true}, act{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.True(t, New(cfg).Run(ctx).Stopped)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// TestUnreachableWorkerIsGivenUp checks that a process whose worker cannot be told to stop, because
// its link is down, is given up and named.
func TestUnreachableWorkerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast(nil, act{after: time.Second, code: 1}, act{mute: true})
		began := time.Now()
		result := New(cfg).Run(t.Context())
		require.Equal(t, []string{"rank 1 on w-1"}, result.Left)
		require.Equal(t, time.Second+settleTime+5*time.Second+stopMargin, time.Since(began))
	})
}

func TestAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		listens time.Duration // when a server listens at the address
		acts    []act
		code    int
		cause   string
		opened  bool
		told    int
	}{
		"listens in time":             {listens: 3 * time.Second, acts: []act{{after: 10 * time.Second}, {after: time.Second}}, opened: true},
		"never listens":               {listens: time.Hour, acts: []act{{}, {}}, code: names.ExitDeadline, cause: "rank 1 on w-1 was not started: nothing listens on head:1 after 1m0s: refused", told: 3},
		"another process fails first": {listens: time.Hour, acts: []act{{after: time.Second, code: 3}, {}}, code: 3, cause: "rank 0 on w-0 exited with 3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, s := cast(nil, tc.acts...)
				began := time.Now()
				cfg.Processes[1].After, cfg.Patience = "head:1", time.Minute
				cfg.Dial = func(_ context.Context, address string) error {
					require.Equal(t, "head:1", address)
					if time.Since(began) < tc.listens {
						return errors.New("refused")
					}
					return nil
				}
				var told []time.Duration
				cfg.OnWait = func(label, address string, soFar time.Duration) {
					require.Equal(t, "rank 1 head:1", label+" "+address)
					told = append(told, soFar.Round(tellEvery))
				}
				result := New(cfg).Run(t.Context())
				require.Len(t, told, tc.told)
				require.Equal(t, tc.code, result.Code)
				require.Equal(t, tc.opened, !s[1].opened.IsZero())
				if tc.opened {
					require.LessOrEqual(t, s[1].opened.Sub(began), tc.listens+lastPause)
				}
				if tc.cause != "" {
					require.Equal(t, tc.cause, result.Cause.Sentence())
				}
			})
		})
	}
}

func TestGroupWithoutProcesses(t *testing.T) {
	require.Equal(t, Result{}, New(Config{}).Run(t.Context()))
}

// TestFailed checks when the group has failed. If one success is enough, it goes on after a failure as long
// as another process may succeed.
func TestFailed(t *testing.T) {
	first, second := act{after: time.Second, code: 1}, act{after: 5 * time.Second, code: 1}
	for name, row := range map[string]struct {
		any   bool
		parts []framework.Part
		acts  []act
		want  []bool // at each end
	}{
		"all must succeed":               {acts: []act{first, second}, want: []bool{true, true}},
		"any: another one runs":          {any: true, acts: []act{first, second}, want: []bool{false, true}},
		"any: only a server runs":        {any: true, parts: []framework.Part{works, serves}, acts: []act{first, {}}, want: []bool{true, true}},
		"any: a server fails, one works": {any: true, parts: []framework.Part{serves, works}, acts: []act{first, {}}, want: []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := cast(row.parts, row.acts...)
				cfg.Any = row.any
				var got []bool
				var g *Group
				cfg.OnEnd = func(End, bool) { got = append(got, g.Failed()) }
				g = New(cfg)
				g.Run(t.Context())
				require.Equal(t, row.want, got)
			})
		})
	}
}

//go:build linux

package supervise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/network"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/rendezvous"
)

// ruled returns a supervisor with rules for output lines, and a buffer with what the supervisor
// prints.
func ruled(t *testing.T, words ...progress.Word) (*Supervisor, *bytes.Buffer) {
	said := &bytes.Buffer{}
	s := &Supervisor{Subject: Subject{Name: "train"}, voice: &console.Voice{Out: said}, links: &fleet.Links{}, trouble: func(sentence string) { fmt.Fprintf(said, "trouble: %s\n", sentence) }}
	s.cfg.Progress, s.cfg.Grace = words, time.Second
	s.Progress = stall.New(s.cfg.Progress, 2, 0)
	s.Progress.Begin()
	t.Cleanup(s.Progress.End)
	return s, said
}

// waits handles events for span, like the supervisor's loop.
func (s *Supervisor) waits(span time.Duration) {
	for over := time.After(span); ; {
		select {
		case <-s.Progress.Due():
			s.onProgressDue(context.Background(), time.Now())
		case <-s.Progress.Told():
			s.onProgressTold(context.Background(), time.Now())
		case found := <-s.Living.told():
			s.onLiving(found, time.Now())
		case <-over:
			return
		}
	}
}

// TestStallsAreRecorded checks that the record has each stall with the time without progress, and one end
// of all of them. A line that matches --fail-on is no stall.
func TestStallsAreRecorded(t *testing.T) {
	s, _ := ruled(t, every10s...)
	var err error
	s.record, err = record.Open(t.TempDir(), "a")
	require.NoError(t, err)
	s.recordMoving("a", "it did not stop")
	s.recordStall("a", "a is slow", 2*time.Second)
	s.recordStall("b", "b is slow", 3500*time.Millisecond)
	s.recordMoving("a", "a moves")
	s.recordStall("c", "a failed line", 0)
	s.recordMoving("b", "b moves")
	s.recordMoving("b", "b moves")
	s.record.Close()
	var got []string
	_, err = s.record.Each(func(e event.Event) { got = append(got, fmt.Sprintf("%s %d: %s", e.Kind, e.Count, e.Detail)) })
	require.NoError(t, err)
	require.Equal(t, []string{"stalled 2000: a is slow", "stalled 3500: b is slow", "stalled 0: a failed line", "moving 0: b moves"}, got)
}

var every10s = []progress.Word{{Flag: "expect", Value: `step (\d+)`}, {Flag: "within", Value: "10s"}}

func TestARuleIsJudgedWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, every10s...)
		out := s.Progress.Hear(1, nil)
		for i := range 5 {
			_, _ = fmt.Fprintf(out, "step %d\n", i)
			s.waits(9 * time.Second)
		}
		require.Empty(t, said.String())
		s.waits(time.Minute)
		_, _ = io.WriteString(out, "step 5\n")
		s.waits(time.Second)
		const why = "no progress: the number of expect 'step (\\d+)' has not grown beyond 4 for 10 s; the last matching line (rank 1, 10 s ago): step 4"
		require.Equal(t, "agent: "+why+"\ntrouble: "+why+"\nagent: progress again: expect 'step (\\d+)' matched a line of rank 1: step 5\ntrouble: \n", said.String())
		require.Equal(t, []report.Stall{{Rule: "expect 'step (\\d+)'", Why: why, Rank: "rank 1", Line: "step 4"}}, s.Stalls)
	})
}

// TestAStallEndsAfterAChangeOfWorkers checks that a run is no longer stalled when lines count again after
// workers have joined or left, which restarts the clocks of the rules.
func TestAStallEndsAfterAChangeOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, every10s...)
		out := s.Progress.Hear(1, nil)
		_, _ = io.WriteString(out, "step 7\n")
		s.waits(11 * time.Second)
		require.NotEmpty(t, s.wrongs)
		s.Progress.Again()
		s.waits(time.Second)
		require.NotEmpty(t, s.wrongs, "nothing has been printed since")
		_, _ = io.WriteString(out, "step 1\n")
		s.waits(time.Second)
		require.Contains(t, said.String(), "agent: progress again: expect 'step (\\d+)' matched a line of rank 1: step 1\ntrouble: \n")
		require.Empty(t, s.wrongs)
		require.Empty(t, s.stalls)
	})
}

// TestAStallEndsWithItsRank checks that a run is no longer stalled when the only rank without progress has
// ended, without a line of another rank.
func TestAStallEndsWithItsRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, append(slices.Clone(every10s), progress.Word{Flag: "expect-by", Value: "rank"})...)
		_, _ = io.WriteString(s.Progress.Hear(0, nil), "step 7\n")
		s.waits(5 * time.Second)
		_, _ = io.WriteString(s.Progress.Hear(0, nil), "step 8\n")
		s.waits(6 * time.Second)
		require.Contains(t, said.String(), "agent: no progress on rank 1: ")
		s.Progress.Ended(1, true)
		s.waits(time.Second)
		require.Contains(t, said.String(), "agent: progress again: rank 1 has ended; expect 'step (\\d+)' holds for the others\ntrouble: \n")
		require.Empty(t, s.stalls)
	})
}

// TestAStallBeforeTheFirstLimit checks that a stall is reported in time although the limit for the first
// line, which is longer, has not passed.
func TestAStallBeforeTheFirstLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, append(slices.Clone(every10s), progress.Word{Flag: "first-within", Value: "1h"})...)
		_, _ = io.WriteString(s.Progress.Hear(1, nil), "step 1\n")
		s.waits(9 * time.Second)
		require.Empty(t, said.String())
		s.waits(2 * time.Second)
		require.Contains(t, said.String(), "no progress: ")
	})
}

// stuck is a destination for output that blocks until read is closed.
type stuck struct{ read chan struct{} }

func (s stuck) Write(p []byte) (int, error) { <-s.read; return len(p), nil }
func (s stuck) Close() error                { return nil }

func TestUnreadOutputIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, every10s...)
		reader := stuck{make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.WriteString(s.Progress.Hear(0, reader), "step 1\n") })
		s.waits(5 * time.Minute)
		require.Equal(t, "agent: progress rules are paused: the job's output is not read\n", said.String())
		close(reader.read)
		wg.Wait()
		s.waits(time.Minute)
		require.Contains(t, said.String(), "no progress: ")
	})
}

func TestAStoppedLauncherReportsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, every10s...)
		time.Sleep(time.Hour) // no event is handled, as if the launcher was stopped
		s.onProgressDue(t.Context(), time.Now())
		require.Contains(t, said.String(), "paused: the launcher itself was stopped")
		require.Empty(t, s.Stalls)
	})
}

// TestAStoppedLauncherHearsOneRankFirst checks that the first line after a stop of the launcher does not make the other
// ranks guilty. A line that must not come still counts.
func TestAStoppedLauncherHearsOneRankFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, append(slices.Clone(every10s), progress.Word{Flag: "first-within", Value: "1m"}, progress.Word{Flag: "expect-by", Value: "rank"},
			progress.Word{Flag: "progress-action", Value: "stop"}, progress.Word{Flag: "fail-on", Value: "nan"}, progress.Word{Flag: "progress-action", Value: "report"})...)
		time.Sleep(time.Hour)
		_, _ = io.WriteString(s.Progress.Hear(0, nil), "step 1 nan\n")
		<-s.Progress.Told()
		require.False(t, s.onProgressTold(t.Context(), time.Now()))
		require.Contains(t, said.String(), "paused: the launcher itself was stopped")
		require.Len(t, s.Stalls, 1, "%s", said)
		require.Contains(t, said.String(), "failed line: ")
		s.waits(time.Minute)
		require.Contains(t, said.String(), "no progress on rank 0", "the rules go on")
	})
}

func TestABrokenRuleEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, progress.Word{Flag: "fail-on", Value: "nan"})
		_, _ = io.WriteString(s.Progress.Mixed(metrics.TagsAll), "[1,1]<stdout>:loss=nan\n")
		require.True(t, s.onProgress(t.Context(), time.Now()))
		require.Contains(t, said.String(), "agent: stopping train (--progress-action=stop), killing it after 1.0 s")
		require.Equal(t, "train was stopped: failed line: fail-on 'nan' matched a line of rank 1: loss=nan", s.Hung)
		require.Equal(t, "rank 1", *s.Stalled)
	})
}

// TestSavingRanksKeepTheirGrace checks that neither a progress rule, --exit-within nor --require-rdma stops
// a command that is being stopped already: its ranks may save.
func TestSavingRanksKeepTheirGrace(t *testing.T) {
	for name, prepare := range map[string]func(e *ending){
		"worker going down": func(e *ending) { e.onGoingDown(10 * time.Minute) },
		"restart":           func(e *ending) { e.onRestart(10 * time.Minute); e.next() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, said := ruled(t, append(slices.Clone(every10s), progress.Word{Flag: "progress-action", Value: "stop"})...)
				s.Rest = NewLeftover(time.Minute)
				prepare(&s.ending)
				before := s.ending
				s.waits(time.Minute)
				s.Rest.Note("rank 0", true, false)
				require.False(t, s.onRestDue())
				s.Network = network.New([]rendezvous.Worker{{Name: "w0", RDMA: 1}, {Name: "w1", RDMA: 1}}, true)
				_, err := io.WriteString(s.Network.Hear("w0", console.Nowhere()), "w0:1482:1482 [0] NCCL INFO Using network Socket\n")
				require.NoError(t, err)
				require.False(t, s.onFallback())
				require.Equal(t, before, s.ending)
				require.Equal(t, 10*time.Minute, s.ending.wait())
				require.Empty(t, s.Hung+s.Refused)
				require.Empty(t, said.String())
			})
		})
	}
}

func TestAllTroublesAreReported(t *testing.T) {
	var last string
	s := &Supervisor{trouble: func(sentence string) { last = sentence }}
	for _, row := range []struct{ key, sentence, want string }{
		{aHang, "it hangs", "it hangs"}, {"expect 'x'", "no progress", "it hangs; no progress"}, {aHang, "", "no progress"},
		{"expect 'x'", "still none", "still none"}, {"expect 'x'", "", ""},
	} {
		s.complain(row.key, row.sentence)
		require.Equal(t, row.want, last)
	}
}

// TestARankOfAnMPIRunHasEnded checks that a rule by rank expects nothing from a rank of an mpirun that has
// ended, if all workers say which ranks they have. A later rank with its number is watched again.
func TestARankOfAnMPIRunHasEnded(t *testing.T) {
	const stalled = "agent: no progress on rank 1%[2]s: the number of expect 'step (\\d+)' has not grown beyond %[1]d for 10 s; the last matching line (rank 1, 11 s ago): step %[1]d\n"
	for name, row := range map[string]struct {
		first, then living // the answers while rank 1 prints nothing, and after the next rank 1 has printed a line
		want        string
	}{
		"it runs":                  {first: living{[]int{0, 1}, true}, then: living{[]int{0}, true}, want: fmt.Sprintf(stalled, 1, "")},
		"it has ended":             {first: living{[]int{0}, true}, then: living{[]int{0}, true}},
		"a worker does not answer": {first: living{[]int{0}, false}, then: living{[]int{0}, true}, want: fmt.Sprintf(stalled, 1, " and 1 more rank")},
		"no rank has a number":     {first: living{nil, true}, then: living{[]int{0}, true}, want: fmt.Sprintf(stalled, 1, " and 1 more rank")},
		"another mpirun has one":   {first: living{[]int{0}, true}, then: living{[]int{0, 1}, true}, want: fmt.Sprintf(stalled, 2, "")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, said := ruled(t, append(slices.Clone(every10s), progress.Word{Flag: "expect-by", Value: "rank"})...)
				s.trouble = func(string) {}
				s.Progress = stall.New(s.cfg.Progress, 0, 0) // an mpirun has an unknown number of ranks
				s.Progress.Begin()
				defer s.Progress.End()
				var asking sync.WaitGroup
				defer asking.Wait()
				answer := row.first
				s.Living = NewLiving(asking.Go, func(context.Context) ([]int, bool) {
					time.Sleep(time.Second)
					return answer.ranks, answer.whole
				})
				out := s.Progress.Mixed(metrics.TagsAll)
				say := func(rank, step int) { _, _ = fmt.Fprintf(out, "[1,%d]<stdout>:step %d\n", rank, step) }
				say(1, 1)
				s.waits(time.Second / 2)
				say(2, 1) // it ends at once, and is overdue while the question about rank 1 is open
				for i := range 40 {
					say(0, i)
					s.waits(time.Second)
					if i == 20 {
						answer = row.then
						say(1, 2)
					}
				}
				require.Equal(t, row.want, strings.Split(said.String(), "agent: progress again")[0])
			})
		})
	}
}

// TestTwoRulesWithOneExpression checks that one of them may still be broken when the other one is
// satisfied again.
func TestTwoRulesWithOneExpression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, said := ruled(t, append(slices.Clone(every10s), progress.Word{Flag: "expect-by", Value: "rank"},
			progress.Word{Flag: "expect", Value: `step (\d+)`}, progress.Word{Flag: "within", Value: "20s"})...)
		s.waits(25 * time.Second)
		require.Equal(t, 2, strings.Count(said.String(), "agent: no progress"), said.String())
		said.Reset()
		_, err := s.Progress.Hear(0, console.Nowhere()).Write([]byte("step 1\n"))
		require.NoError(t, err)
		s.waits(time.Second)
		require.Regexp(t, "trouble: no progress on rank .*\n$", said.String(), "rank 1 has printed nothing")
	})
}

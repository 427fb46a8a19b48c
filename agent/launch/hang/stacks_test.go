package hang

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/hang/hangtest"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// telling is a worker of a stage that reports stacks. Its rank uses processor time for that, unless it
// is only asked whether it polls.
type telling struct {
	hangtest.Worker
	text string
	err  error
	took time.Duration
	// bounded means that it answers in the time that it is given, as a real worker does.
	bounded bool
}

func (w telling) Stacks(ctx context.Context, ask wire.AskRecord) (wire.AnswerRecord, error) {
	took := w.took
	if w.bounded {
		took = min(took, time.Duration(ask.Millis)*time.Millisecond)
	}
	if took > 0 { // see due in agent/group
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return wire.AnswerRecord{}, context.Cause(ctx)
		}
	}
	if !ask.Polls {
		w.Change(func() { w.Used[w.Name] += 5000 })
	}
	return wire.AnswerRecord{Stacks: []wire.StackRecord{{Session: "s", Text: []byte(w.text), Process: wire.ProcessRecord{PID: 2, Command: "python3", Rank: w.Name, State: "S", Call: "recvfrom", Peer: "10.0.0.1:80"}}}}, w.err
}

const atStep = "Current thread 0x1 (most recent call first):\n  File \"/app/train.py\", line 40 in step\n"

// TestTakeStacks checks that a worker that does not answer, or is too old, costs no more than the
// time limit, and does not affect the other workers.
func TestTakeStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		workers := map[string]Asker{
			"w-0": telling{Worker: hangtest.Worker{Stage: s, Name: "0"}, text: atStep},
			"w-1": telling{Worker: hangtest.Worker{Stage: s, Name: "1"}, took: time.Hour},
			"w-2": telling{Worker: hangtest.Worker{Stage: s, Name: "2"}, err: errors.New("the agent of the worker is too old to take stacks")},
			"w-3": hangtest.Worker{Stage: s, Name: "3"},
		}
		began := time.Now()
		at := TakeStacks(t.Context(), FailureStacks, wire.ProgramsBrief, workers, func(string) string { return "" })
		require.Equal(t, FailureStacks, time.Since(began))
		require.True(t, at.Told())
		require.Equal(t, []string{
			"rank 0 on w-0: waiting for 10.0.0.1:80 at train.py:40 step (python3, pid 2; recvfrom)",
			`  File "/app/train.py", line 40 in step`,
		}, stacks.Lines(at.Ranks[:1], nil))
		require.Equal(t, []string{"  w-1: no stacks: no answer in time", "  w-2: no stacks: the agent of the worker is too old to take stacks", "  w-3: no stacks: the worker cannot answer"},
			at.Lines(stacks.Verdict{})[len(at.Lines(stacks.Verdict{}))-3:])
	})
}

// TestTakeStacksOfMany checks that workers which have to wait for their turn are told the time that is left, and so answer
// with what they know until then.
func TestTakeStacksOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, workers := hangtest.New(), map[string]Asker{}
		for i := range 2*mostStackAsks + 100 {
			workers[fmt.Sprint(i)] = telling{Worker: hangtest.Worker{Stage: s, Name: fmt.Sprint(i)}, text: atStep, took: 2 * time.Second, bounded: true}
		}
		began := time.Now()
		at := TakeStacks(t.Context(), hangStacks, wire.ProgramsBrief, workers, func(string) string { return "" })
		require.LessOrEqual(t, time.Since(began), hangStacks)
		require.Empty(t, at.Unknown)
		require.Len(t, at.Ranks, len(workers))
	})
}

// TestReportingStacksIsNoWork checks that the processor time that ranks use to report their stacks
// does not count as progress, on the worker that was busy last or on others.
func TestReportingStacksIsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hangtest.New()
		w := NewWatch(10*time.Minute, func() map[string]Asker {
			all := map[string]Asker{}
			for i := range 2 {
				all[fmt.Sprint(i)] = telling{Worker: hangtest.Worker{Stage: s, Name: fmt.Sprint(i)}, text: atStep}
			}
			return all
		})
		w.Begin()
		defer w.End()
		time.Sleep(4 * time.Minute)
		s.Change(func() { s.Used["0"] += 1000 })
		h := <-w.Tell()
		require.NotNil(t, h.Stacks)
		require.True(t, h.Stacks.Told())
		select {
		case h := <-w.Tell():
			require.Fail(t, "the hang was reported again", "%+v", h)
		case <-time.After(4 * time.Hour):
		}
	})
}

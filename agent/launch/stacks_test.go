//go:build linux

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// telling is a worker of a stage that tells stacks; for that its rank uses a processor.
type telling struct {
	seated
	text string
	err  error
	took time.Duration
}

func (w telling) Stacks(ctx context.Context, _ wire.AskRecord) (wire.AnswerRecord, error) {
	select {
	case <-time.After(w.took):
	case <-ctx.Done():
		return wire.AnswerRecord{}, context.Cause(ctx)
	}
	w.change(func() { w.used[w.name] += 5000 })
	return wire.AnswerRecord{Stacks: []wire.StackRecord{{Session: "s", Text: []byte(w.text), Process: wire.ProcessRecord{PID: 2, Command: "python3", Rank: w.name, State: "S", Call: "recvfrom", Peer: "10.0.0.1:80"}}}}, w.err
}

const atStep = "Current thread 0x1 (most recent call first):\n  File \"/app/train.py\", line 40 in step\n"

// A worker that does not answer, or is too old, costs no more than the time, and takes
// nothing from the others.
func TestTakeStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		workers := map[string]asker{
			"w-0": telling{seated: seated{s, "0"}, text: atStep},
			"w-1": telling{seated: seated{s, "1"}, took: time.Hour},
			"w-2": telling{seated: seated{s, "2"}, err: errors.New("its agent is too old to take stacks")},
			"w-3": seated{s, "3"},
		}
		began := time.Now()
		at := takeStacks(t.Context(), failureStacks, wire.ProgramsBrief, workers, func(string) string { return "" })
		require.Equal(t, failureStacks, time.Since(began))
		require.True(t, at.told())
		require.Equal(t, []string{
			"rank 0 on w-0: waiting for 10.0.0.1:80 at train.py:40 step (python3, pid 2; recvfrom)",
			`  File "/app/train.py", line 40 in step`,
		}, stacks.Lines(at.ranks[:1], nil))
		require.Equal(t, []string{"  w-1: no stacks: no answer in time", "  w-2: no stacks: its agent is too old to take stacks", "  w-3: no stacks: it cannot be asked"},
			at.lines(stacks.Verdict{})[len(at.lines(stacks.Verdict{}))-3:])
	})
}

// The time that ranks take to tell their stacks is no sign that the run goes on.
func TestTellingStacksIsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		w := newHangWatch(10*time.Minute, func() map[string]asker {
			all := map[string]asker{}
			for i := range 2 {
				all[fmt.Sprint(i)] = telling{seated: seated{s, fmt.Sprint(i)}, text: atStep}
			}
			return all
		})
		w.begin()
		h := <-w.tell()
		require.NotNil(t, h.stacks)
		require.True(t, h.stacks.told())
		select {
		case h := <-w.tell():
			require.Fail(t, "it was told again", "%+v", h)
		case <-time.After(4 * time.Hour):
		}
		w.end()
	})
}

// The verdict of a failure is said of ranks that lived then, once, and is in the report.
func TestBlame(t *testing.T) {
	out := &bytes.Buffer{}
	r := &runner{voice: &console.Voice{Out: out}}
	w := &witness{run: r, hang: newHangWatch(0, nil), done: make(chan struct{}), over: map[string]bool{"rank 1": true}}
	w.hang.name("s1", "rank 1")
	record := func(session, rank, call string) stacks.Rank {
		return rankOf("w-"+rank, wire.StackRecord{Session: session, Text: []byte(atStep), Process: wire.ProcessRecord{Rank: rank, PID: 9, Command: "python3", State: "S", Call: call}}, w.hang.labelOf)
	}
	w.seen.ranks = []stacks.Rank{record("s0", "0", "clock_nanosleep"), record("s1", "1", "clock_nanosleep"), record("s2", "2", "recvfrom")}
	failure := stacks.Failure{Sentence: "rank 1 on w-1 exited with 1", Tail: []string{"TimeoutError: timed out"}}
	sentence, lines := w.judge(failure)
	require.Empty(t, sentence, "the stacks are not there yet")
	require.Empty(t, lines)

	close(w.done)
	sentence, lines = w.judge(failure)
	require.Equal(t, "rank 1 on w-1 exited with 1 (timed out); rank 0 on w-0 was not waiting: sleeping at train.py:40 step. Look at rank 0 first.", sentence)
	require.Equal(t, sentence, lines[0])
	require.Len(t, lines, 5)
	sentence, _ = w.judge(stacks.Failure{Sentence: "rank 1 on w-1 exited with 1", Tail: []string{"ValueError: x"}})
	require.Empty(t, sentence, "no stack explains it")
}

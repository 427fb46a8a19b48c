package hang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// TestBlame checks that the verdict about a failure covers only the ranks that were alive then, and
// is empty without an explanation.
func TestBlame(t *testing.T) {
	w := &Witness{hang: NewWatch(0, nil), done: make(chan struct{}), over: map[string]bool{"rank 1": true}}
	w.hang.Name("s1", "rank 1")
	record := func(session, rank, call string) stacks.Rank {
		return rankOf("w-"+rank, wire.StackRecord{Session: session, Text: []byte(atStep), Process: wire.ProcessRecord{Rank: rank, PID: 9, Command: "python3", State: "S", Call: call}}, w.hang.LabelOf)
	}
	w.seen.Ranks = []stacks.Rank{record("s0", "0", "clock_nanosleep"), record("s1", "1", "clock_nanosleep"), record("s2", "2", "recvfrom")}
	failure := stacks.Failure{Sentence: "rank 1 on w-1 exited with 1", Tail: []string{"TimeoutError: timed out"}}
	sentence, lines := w.Judge(failure)
	require.Empty(t, sentence, "the stacks have not arrived yet")
	require.Empty(t, lines)

	close(w.done)
	sentence, lines = w.Judge(failure)
	require.Equal(t, "rank 1 on w-1 exited with 1 (timed out); rank 0 on w-0 was not waiting: sleeping at train.py:40 step. Look at rank 0 first.", sentence)
	require.Equal(t, sentence, lines[0])
	require.Len(t, lines, 5)
	sentence, _ = w.Judge(stacks.Failure{Sentence: "rank 1 on w-1 exited with 1", Tail: []string{"ValueError: x"}})
	require.Empty(t, sentence, "no stack explains the failure")
}

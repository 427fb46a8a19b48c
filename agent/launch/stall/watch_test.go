//go:build linux

package stall

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/agent/progress"
)

// BenchmarkProgressRules measures the work of the launcher for a line of a rank, with and without
// rules: 1,000 ranks, four lines each.
func BenchmarkProgressRules(b *testing.B) {
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "2026-01-02 10:00:00 INFO trainer epoch 3 step %d loss=0.2718 lr=1e-4 tokens/s=18231\n", 1000+i)
	}
	for name, words := range map[string][]progress.Word{"without": nil, "with": {{Flag: "expect", Value: `step (\d+)`}, {Flag: "within", Value: "10s"}, {Flag: "fail-on", Value: "loss.*nan"}}} {
		b.Run(name, func(b *testing.B) {
			p := output.New(output.Config{Out: io.Discard, Err: io.Discard, Ranks: 1000, Processes: 1000})
			watch := New(words, 1000, 0)
			var streams []io.Writer
			for rank := range 1000 {
				out, _ := p.Streams(rank, fmt.Sprint("rank ", rank))
				streams = append(streams, watch.Hear(rank, out))
			}
			for i := 0; i < b.N; i += 4 {
				_, _ = io.WriteString(streams[i/4%1000], text.String())
			}
		})
	}
}

// TestLinesBeforeTheBeginCount checks that the rules know what a command has printed before the supervisor
// watched it.
func TestLinesBeforeTheBeginCount(t *testing.T) {
	w := New([]progress.Word{{Flag: "expect", Value: "loaded"}, {Flag: "first-within", Value: "10s"}, {Flag: "fail-on", Value: "nan"}}, 1, 0)
	_, err := io.WriteString(w.Hear(0, nil), "loaded\nloss nan\n")
	require.NoError(t, err)
	w.Begin()
	defer w.End()
	require.Len(t, w.Told(), 1)
	var said []string
	for _, v := range w.Look(time.Now().Add(time.Minute)) {
		said = append(said, v.Sentence())
	}
	require.Equal(t, []string{"failed line: fail-on 'nan' matched a line of rank 0: loss nan"}, said)
}

// TestSampleHasTheNumbersOfRules checks that a sample has what each group of each rule has captured, as
// far as it is a number.
func TestSampleHasTheNumbersOfRules(t *testing.T) {
	w := New([]progress.Word{{Flag: "expect", Value: `step (\d+) loss (\S+)`}, {Flag: "within", Value: "10s"}, {Flag: "expect", Value: "alive"}, {Flag: "within", Value: "10s"}, {Flag: "expect", Value: `saved (\d+)`}, {Flag: "within", Value: "10s"}}, 1, 0)
	var s event.Sample
	w.Sample(&s)
	require.Empty(t, s.Progress)
	w.Begin()
	defer w.End()
	to := w.Hear(0, nil)
	_, err := io.WriteString(to, "step 3 loss nan\nalive\nsaved 2\nstep 4 loss nan\nstep 1 loss nan\n")
	require.NoError(t, err)
	w.Sample(&s)
	require.Equal(t, []event.Number{{Rule: `expect 'step (\d+) loss (\S+)'`, Group: 1, Value: 4}, {Rule: `expect 'saved (\d+)'`, Group: 1, Value: 2}}, s.Progress)
	var none *Watch
	none.Sample(&s)
	require.Len(t, s.Progress, 2)
}

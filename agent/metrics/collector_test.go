package metrics

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func collector(t *testing.T, names ...string) *Collector {
	t.Helper()
	specs, err := Parse(names)
	require.NoError(t, err)
	return New(specs)
}

func TestLowestRankCounts(t *testing.T) {
	c := collector(t, "loss", "acc")
	c.Line(2, []byte("loss=2 acc=9"))
	c.Line(3, []byte("loss=3"))
	c.Line(2, []byte("loss=4"))
	require.Equal(t, Series{Spec: Spec{"loss", Raw}, Count: 2, Rank: 2, Last: 4, Finite: 2, Min: 2, Max: 4}, c.Series()[0])
	c.Line(0, []byte("loss=7"))
	c.Line(1, []byte("loss=1 acc=5"))
	require.Equal(t, Series{Spec: Spec{"loss", Raw}, Count: 1, Last: 7, Finite: 1, Min: 7, Max: 7}, c.Series()[0])
	require.Equal(t, 1, c.Series()[1].Rank)
	require.Equal(t, 5.0, c.Series()[1].Last)
}

func TestProcessWithoutRankCountsLast(t *testing.T) {
	c := collector(t, "loss")
	c.Line(-1, []byte("loss=1"))
	require.Equal(t, "metric loss: last 1, most 1, least 1; 1 value", c.Series()[0].Sentence())
	require.Equal(t, "metric  last  most  least  count  rank\nloss    1     1     1      1      -\n", Summary(c.Series()))
	c.Line(7, []byte("loss=2"))
	c.Line(-1, []byte("loss=3"))
	require.Equal(t, "metric loss: last 2, most 2, least 2; 1 value of rank 7", c.Series()[0].Sentence())
}

func TestRanksAtOnce(t *testing.T) {
	c := collector(t, "loss")
	var wg sync.WaitGroup
	for rank := range 8 {
		wg.Go(func() {
			w := c.Writer(rank)
			for i := range 200 {
				fmt.Fprintf(w, "step %d loss=%d.%d\n", i, rank, i)
			}
		})
	}
	wg.Wait()
	require.Equal(t, Series{Spec: Spec{"loss", Raw}, Count: 200, Last: 0.199, Finite: 200, Min: 0, Max: 0.99}, c.Series()[0])
}

// TestWriterCuts checks that the result is the same however a stream is split.
func TestWriterCuts(t *testing.T) {
	text := []byte("x loss=1.25\r\nloss=2.5\rloss: 3\n\n\x1b[31mloss\x1b[0m=4.125\nval_loss=9\nloss=-7.5e-1")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		c := collector(t, "loss")
		w := c.Writer(1)
		for rest := text; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			written, err := w.Write(rest[:n])
			require.NoError(t, err)
			require.Equal(t, n, written)
			rest = rest[n:]
		}
		require.Equal(t, 4, c.Series()[0].Count, "the last line is not complete yet")
		require.NoError(t, w.Close())
		require.Equal(t, Series{Spec: Spec{"loss", Raw}, Count: 5, Rank: 1, Last: -0.75, Finite: 5, Min: -0.75, Max: 4.125}, c.Series()[0])
	}
}

func TestLongPieces(t *testing.T) {
	c := collector(t, "loss")
	w := c.Writer(0)
	long := bytes.Repeat([]byte("loss=1 "), maxPiece/4)
	for range 10 {
		_, _ = w.Write(long)
	}
	require.LessOrEqual(t, cap(w.held), 2*maxPiece)
	_, _ = w.Write([]byte("\nloss=2\n"))
	require.Equal(t, 1, c.Long())
	require.Equal(t, 1, c.Series()[0].Count)
	c.Line(0, long)
	require.Equal(t, 2, c.Long())
}

func TestMixed(t *testing.T) {
	for _, row := range []struct {
		tags Tags
		line string
		rank int
	}{
		{TagsSure, "[1,3]<stdout>:loss=1", 3},
		{TagsSure, "[prterun-host-0-77@1,12]<stdout>: loss=1", 12},
		{TagsSure, "[2]<stdout>:loss=1", 2},
		{TagsSure, "[1,3]<stderr>:a\rloss=1", 3},
		{TagsSure, "[rank5]: loss=1", 5},
		{TagsSure, "[5] loss=1", 0},
		{TagsSure, "5: loss=1", 0},
		{TagsSure, "[1,x]<stdout>:loss=1", 0},
		{TagsAll, "[5] loss=1", 5},
		{TagsAll, " 5: loss=1", 5},
		{TagsAll, "\x1b[32m 5: \x1b[0mloss=1", 5},
		{TagsAll, "5:loss=1", 0},
		{TagsAll, "9999999999: loss=1", 0},
		{TagsAll, "[1,3]<stdout>:loss=1", 3},
		{TagsNone, "[1,3]<stdout>:loss=1", 0},
	} {
		c := collector(t, "loss")
		w := c.Mixed(row.tags)
		_, _ = w.Write([]byte(row.line))
		_ = w.Close()
		got := c.Series()[0]
		require.Equal(t, 1, got.Count, row.line)
		require.Equal(t, row.rank, got.Rank, row.line)
	}
}

func TestMerge(t *testing.T) {
	lines := []string{"2|loss=1", "0|loss=5", "1|loss=2", "0|loss=nan", "0|loss=3", "0|loss=x", "3|loss=9", "/|loss=10", "0|loss=8 loss=4", "0|loss=inf"}
	whole := collector(t, "loss")
	for split := range len(lines) + 1 {
		a, b := collector(t, "loss"), collector(t, "loss")
		whole = collector(t, "loss")
		for i, line := range lines {
			rank, text, _ := strings.Cut(line, "|")
			to := a
			if i >= split {
				to = b
			}
			n := int(rank[0] - '0')
			to.Line(n, []byte(text))
			whole.Line(n, []byte(text))
		}
		a.merge(b)
		require.Equal(t, whole.Series(), a.Series(), split)
	}
	require.Equal(t, 6, whole.Series()[0].Count)
}

func BenchmarkLine(b *testing.B) {
	specs, _ := Parse([]string{"loss", "images/sec", "acc:PERCENTAGE"})
	c := New(specs)
	line := []byte("2026-11-21 22:10:44,123 INFO step 12345 of 99999, learning rate 1e-05, loss=0.1234, images/sec: 215.32, grad_norm=1.5")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		c.Line(0, line)
	}
}

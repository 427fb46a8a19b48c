//go:build linux

package record

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/metrics"
)

// TestFirstLinesOfAMixedOutput checks which ranks have a first line, by the tags of each mpirun, however
// the output is cut into writes.
func TestFirstLinesOfAMixedOutput(t *testing.T) {
	const command = "-1 " + ofCommand
	for name, row := range map[string]struct {
		tags metrics.Tags
		text string
		want []string
	}{
		"no output":             {metrics.TagsSure, "", nil},
		"blank lines":           {metrics.TagsSure, "\n\n", nil},
		"no tags":               {metrics.TagsSure, "hello\nworld\n", []string{command}},
		"Open MPI 4":            {metrics.TagsSure, "[1,1]<stdout>:a\n[1,0]<stderr>:b\n[1,1]<stderr>:c\n", []string{"1 ", "0 "}},
		"Open MPI 5":            {metrics.TagsSure, "[prterun-host-7@1,3]<stdout>: a\n", []string{"3 "}},
		"a warning comes first": {metrics.TagsSure, "mpirun warns\n[1,2]<stdout>:a\nand again\n", []string{command, "2 "}},
		"Hydra, not asked for":  {metrics.TagsSure, "[3] a\n[4] b\n", []string{command}},
		"Hydra, asked for":      {metrics.TagsAll, "[3] a\n[4] b\n", []string{"3 ", "4 "}},
		"no newline at the end": {metrics.TagsSure, "[1,5]<stdout>:a", []string{"5 "}},
		"a long line":           {metrics.TagsSure, "[1,5]<stdout>:" + fmt.Sprintf("%2000d", 1) + "\n[1,6]<stdout>:a\n", []string{"5 ", "6 "}},
	} {
		for _, size := range []int{1, 7, 300, 1 << 20} {
			l := open(t, t.TempDir(), "a")
			l.Note(event.RunStarted, "", 0)
			m := l.Mixed(row.tags.Split)
			to := m.Reader()
			for rest := row.text; rest != ""; {
				n := min(size, len(rest))
				_, err := io.WriteString(to, rest[:n])
				require.NoError(t, err)
				rest = rest[n:]
			}
			require.NoError(t, to.Close())
			var got []string
			for _, e := range read(t, l)[1:] {
				require.Equal(t, event.FirstLine, e.Kind)
				require.Empty(t, e.Worker)
				require.WithinDuration(t, time.Now(), e.Time, time.Hour)
				got = append(got, fmt.Sprint(e.Rank, " ", e.Detail))
			}
			require.Equal(t, row.want, got, "%s, %d bytes at once", name, size)
		}
	}
}

// TestStreamsShareFirstLines checks that the streams of a command share its ranks, and that later lines
// allocate nothing.
func TestStreamsShareFirstLines(t *testing.T) {
	l := open(t, t.TempDir(), "a")
	m := l.Mixed(metrics.TagsSure.Split)
	line := []byte("[1,0]<stdout>:step 1\nno tag\n")
	for _, to := range []io.WriteCloser{m.Reader(), m.Reader()} {
		_, _ = to.Write(line)
		require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = to.Write(line) }))
		require.NoError(t, to.Close())
	}
	for rank := range mostRanks {
		m.ranks[rank] = true
	}
	m.line([]byte("[1,99999999]<stdout>:not a rank"), time.Time{})
	require.Len(t, read(t, l), 2)

	var none *Log
	to := none.Mixed(nil).Reader()
	n, err := to.Write(line)
	require.Equal(t, len(line), n)
	require.NoError(t, err)
	require.NoError(t, to.Close())
}

// BenchmarkMixed measures the work of the launcher for a line with a tag.
func BenchmarkMixed(b *testing.B) {
	for name, line := range map[string]string{"tag": "[1,12]<stdout>:epoch 3 step 1000 loss=0.2718\n", "none": "epoch 3 step 1000 loss=0.2718 lr=1e-4 x=1\n"} {
		b.Run(name, func(b *testing.B) {
			m := (&Mixed{log: &Log{closed: true, wake: make(chan struct{}, 1)}, split: metrics.TagsSure.Split, ranks: map[int]bool{}}).Reader()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				_, _ = io.WriteString(m, line)
			}
		})
	}
}

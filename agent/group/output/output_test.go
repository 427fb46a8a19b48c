package output

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for text, want := range map[string]Mode{"tag": {Kind: Tag}, "plain": {Kind: Plain}, "dir=/a/b": {Kind: Dir, Dir: "/a/b"},
		"s3://logs/a": {Kind: Dir, Bucket: "s3://logs/a"}, "s3://logs/a,dir=/b": {Kind: Dir, Dir: "/b", Bucket: "s3://logs/a"}} {
		got, err := ParseMode(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "dir=", "dir", "tags", "Tag"} {
		_, err := ParseMode(text)
		require.Error(t, err, text)
	}
	spans, err := ParseRanks("0, 2-3,7")
	require.NoError(t, err)
	require.Equal(t, []Span{{0, 0}, {2, 3}, {7, 7}}, spans)
	for rank, want := range []bool{true, false, true, true, false, false, false, true, false} {
		require.Equal(t, want, Within(spans, rank), rank)
	}
	for _, text := range []string{"", ",", "1,", "-1", "1-", "3-2", "a", "0x1", "99999999999"} {
		_, err := ParseRanks(text)
		require.Error(t, err, text)
	}
}

// show writes each text to the stdout of the process with the number at the same index.
func show(t *testing.T, cfg Config, ranks []int, texts []string) string {
	t.Helper()
	var out bytes.Buffer
	cfg.Out, cfg.Err = &out, &out
	p := New(cfg)
	for i, rank := range ranks {
		w, e := p.Streams(rank, fmt.Sprintf("ps %d", i))
		if w == nil {
			require.Nil(t, e)
			continue
		}
		n, err := io.WriteString(w, texts[i])
		require.NoError(t, err)
		require.Equal(t, len(texts[i]), n)
		require.NoError(t, w.Close())
		require.NoError(t, e.Close())
		if _, whole := w.(*lines); whole { // a lost worker may still write
			_, err = w.Write([]byte("x"))
			require.ErrorIs(t, err, os.ErrClosed)
		}
	}
	return out.String()
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for name, tc := range map[string]struct {
		cfg   Config
		ranks []int
		texts []string
		want  string
	}{
		"tags":                  {Config{Ranks: 2, Processes: 2}, []int{0, 1}, []string{"a\nb\n", "c\n"}, "0: a\n0: b\n1: c\n"},
		"as wide as needed":     {Config{Ranks: 11, Processes: 11}, []int{3, 10}, []string{"a\n", "b\n"}, " 3: a\n10: b\n"},
		"ten ranks":             {Config{Ranks: 10, Processes: 10}, []int{9}, []string{"a\n"}, "9: a\n"},
		"no rank":               {Config{Ranks: 2, Processes: 3}, []int{1, -1}, []string{"a\n", "b\n"}, "1: a\nps 1: b\n"},
		"no newline at the end": {Config{Ranks: 1, Processes: 2}, []int{0}, []string{"a"}, "0: a\n"},
		"empty lines":           {Config{Ranks: 1, Processes: 2}, []int{0}, []string{"\n\na"}, "0: \n0: \n0: a\n"},
		"bytes":                 {Config{Ranks: 1, Processes: 2}, []int{0}, []string{"\x00\xff\r\t\x1b[1m\n"}, "0: \x00\xff\r\t\x1b[1m\n"},
		"color":                 {Config{Ranks: 2, Processes: 2, ColorOut: true}, []int{1}, []string{"a\n"}, "\x1b[33m1: \x1b[0ma\n"},
		"plain":                 {Config{Mode: Mode{Kind: Plain}, Processes: 2}, []int{0, 1}, []string{"a\nb", "c\n"}, "a\nb\nc\n"},
		"plain, one process":    {Config{Mode: Mode{Kind: Plain}, Processes: 1}, []int{0}, []string{"a\nb"}, "a\nb"},
		"selected ranks":        {Config{Ranks: 3, Processes: 4, Only: []Span{{0, 0}, {2, 2}}}, []int{0, 1, 2, -1}, []string{"a\n", "b\n", "c\n", "d\n"}, "0: a\n2: c\n"},
		"longest line":          {Config{Ranks: 1, Processes: 2}, []int{0}, []string{long + "\n"}, "0: " + long + "\n"},
		"line too long":         {Config{Ranks: 1, Processes: 2}, []int{0}, []string{long + long + "y\nz\n"}, "0: " + long + "\n0: " + Continued + long + "\n0: " + Continued + "y\n0: z\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, show(t, tc.cfg, tc.ranks, tc.texts))
		})
	}
}

// TestWholeLinesAlways checks that the lines of each process arrive complete, in order and
// unchanged, however writes are split and whatever other processes write.
func TestWholeLinesAlways(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const processes = 4
	var out bytes.Buffer
	p := New(Config{Out: &out, Err: &out, Ranks: processes, Processes: processes})
	texts := make([]string, processes)
	var all sync.WaitGroup
	for rank := range processes {
		rnd := rand.New(rand.NewPCG(seed, uint64(rank)))
		var text strings.Builder
		for range 300 {
			text.WriteString(strings.Repeat(string(rune('a'+rnd.IntN(26))), rnd.IntN(200)) + "\n")
		}
		texts[rank] = text.String()
		w, _ := p.Streams(rank, "")
		all.Go(func() {
			for rest := texts[rank]; rest != ""; {
				n := min(len(rest), 1+rnd.IntN(500))
				if _, err := io.WriteString(w, rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		})
	}
	all.Wait()
	got := make([]strings.Builder, processes)
	for line := range strings.Lines(out.String()) {
		rank := int(line[0] - '0')
		require.Less(t, rank, processes)
		require.Equal(t, ": ", line[1:3])
		got[rank].WriteString(line[3:])
	}
	for rank := range processes {
		require.Equal(t, texts[rank], got[rank].String())
	}
}

// broken is a writer that always fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestClosedOutput(t *testing.T) {
	out, _ := New(Config{Out: broken{}, Err: broken{}, Ranks: 2, Processes: 2}).Streams(0, "rank 0")
	_, err := io.WriteString(out, "no end yet")
	require.NoError(t, err)
	_, err = io.WriteString(out, "\n")
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb"), uint(3))
	f.Add([]byte("1\r2\r\nb\r"), uint(4))
	f.Fuzz(func(t *testing.T, text []byte, cut uint) {
		var out bytes.Buffer
		l := &lines{to: &out, mu: &sync.Mutex{}}
		n := int(cut % uint(len(text)+1))
		for _, part := range [][]byte{text[:n], text[n:]} {
			_, err := l.Write(part)
			require.NoError(t, err)
		}
		require.NoError(t, l.Close())
		want := string(text)
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		got := strings.ReplaceAll(out.String(), "\n"+Continued, "")
		if strings.Contains(want, "\r") { // states of a progress bar become lines
			want, got = strings.ReplaceAll(want, "\n", ""), strings.ReplaceAll(got, "\n", "")
		}
		require.Equal(t, want, got)
	})
}

func BenchmarkLines(b *testing.B) {
	text := bytes.Repeat([]byte("epoch 3 step 1200 loss=0.3141 images/sec=215.3\n"), 1000)
	l := &lines{to: io.Discard, mu: &sync.Mutex{}, tag: "12: "}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := l.Write(text); err != nil {
			b.Fatal(err)
		}
	}
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// paperLog is a simulated log: lines with their times, served like a kubelet does.
type paperLog struct {
	lines []paperLine
	cut   func() int // bytes of the next connection; -1 means all
	clean bool       // a cut looks like the end of the log
	opens int
}

type paperLine struct {
	at   time.Time
	text string
}

var errBroken = errors.New("connection reset")

func (p *paperLog) open(_ context.Context, since time.Time, tail int, _ bool) (io.ReadCloser, error) {
	p.opens++
	var b strings.Builder
	from := 0
	if tail > 0 {
		from = max(0, len(p.lines)-tail)
	}
	for _, l := range p.lines[from:] {
		if !l.at.Before(since.Truncate(time.Second)) {
			b.WriteString(l.at.Format(time.RFC3339Nano) + " " + l.text)
		}
	}
	text := b.String()
	n := -1
	if p.cut != nil {
		n = p.cut()
	}
	if n < 0 || n >= len(text) {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	if p.clean {
		return io.NopCloser(strings.NewReader(text[:n])), nil
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(text[:n]), broken{})), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// somewhen is the start of the logs, shortly before a full second.
var somewhen = time.Date(2026, 11, 22, 10, 0, 0, 990_000_000, time.UTC)

// sample returns difficult lines: equal lines, lines at the same time, out of order, empty, long,
// without a newline, and seconds apart.
func sample() []paperLine {
	at := func(ms int) time.Time { return somewhen.Add(time.Duration(ms) * time.Millisecond) }
	return []paperLine{
		{at(0), "first\n"}, {at(0), "again\n"}, {at(0), "again\n"}, {at(1), "again\n"}, {at(9), "loss=1\n"},
		{at(11), "behind\n"}, {at(10), "before\n"}, {at(12), "\n"}, {at(500), strings.Repeat("x", 300) + "\n"},
		{at(2500), "2026-11-22T10:00:00Z looks like a time\n"}, {at(4000), "four\n"}, {at(9000), "nine\n"},
		{at(9000), "nine\n"}, {at(9001), "no end"},
	}
}

// read returns a stream of the log, and the lines that the stream passes on.
func read(p *paperLog, since time.Time, tail int) (*stream, *[]string) {
	got := &[]string{}
	return newStream(p, since, tail, func(_ time.Time, line []byte) error {
		*got = append(*got, string(line))
		return nil
	}), got
}

func texts(lines []paperLine) (all []string) {
	for _, l := range lines {
		all = append(all, strings.TrimSuffix(l.text, "\n"))
	}
	return all
}

// finish reads until nothing is left, like podLog.read.
func finish(t *testing.T, s *stream) {
	t.Helper()
	for range 1000 {
		err := s.settle(t.Context())
		if err == nil {
			return
		}
		require.ErrorIs(t, err, errBroken)
	}
	t.Fatal("the stream does not end")
}

// TestEachByteCut cuts the first connection after each byte, cleanly and with an error, and the
// second connection at points throughout the rest.
func TestEachByteCut(t *testing.T) {
	lines := sample()
	size := 0
	for _, l := range lines {
		size += len(l.at.Format(time.RFC3339Nano)) + 1 + len(l.text)
	}
	cases := 0
	for _, clean := range []bool{false, true} {
		for first := 0; first <= size; first++ {
			for second := -1; second <= size; second += 71 {
				cuts := []int{first, second}
				p := &paperLog{lines: lines, clean: clean, cut: func() int {
					if len(cuts) == 0 {
						return -1
					}
					n := cuts[0]
					cuts = cuts[1:]
					return n
				}}
				s, got := read(p, time.Time{}, 0)
				for range cuts {
					_, _ = s.pass(t.Context(), true)
				}
				finish(t, s)
				require.Equal(t, texts(lines), *got, "cut after %d and %d bytes, clean %v", first, second, clean)
				cases++
			}
		}
	}
	t.Logf("%d pairs of cuts", cases)
}

// TestGrowingLogCut lets a log grow while its connections are cut at random places.
func TestGrowingLogCut(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := &paperLog{clean: seed%2 == 0}
		p.cut = func() int { return r.IntN(900) }
		s, got := read(p, time.Time{}, 0)
		at, n := somewhen, 0
		var all []paperLine
		for range 40 {
			for range r.IntN(8) {
				at = at.Add(time.Duration(r.IntN(700)) * time.Millisecond)
				jitter := time.Duration(r.IntN(3)) * time.Millisecond
				l := paperLine{at.Add(-jitter), fmt.Sprintf("line %d\n", n/2)} // each line twice
				all, p.lines = append(all, l), append(p.lines, l)
				n++
			}
			_, _ = s.pass(t.Context(), true)
		}
		p.cut = nil
		finish(t, s)
		require.Equal(t, texts(all), *got, "seed %d", seed)
		require.LessOrEqual(t, len(s.order), 200, "the number of remembered lines does not grow with the log")
	}
}

func TestTail(t *testing.T) {
	lines := slices.Concat(sample()[:1], sample()[2:12], sample()[13:]) // without equal lines at the same time
	for tail := 2; tail <= len(lines); tail++ {                         // the last line has no newline; settle decides whether it is complete
		for cut := -1; cut < 300; cut++ {
			cuts := []int{cut}
			p := &paperLog{lines: lines, clean: cut%2 == 0, cut: func() int {
				if len(cuts) == 0 {
					return -1
				}
				cuts = nil
				return cut
			}}
			s, got := read(p, time.Time{}, tail)
			_, _ = s.pass(t.Context(), true)
			finish(t, s)
			want := texts(lines)[len(lines)-tail:]
			require.Equal(t, want, *got, "tail %d, cut after %d bytes", tail, cut)
		}
	}
}

func TestRotatedLog(t *testing.T) {
	lines := sample()
	p := &paperLog{lines: lines[:11]}
	s, got := read(p, time.Time{}, 0)
	_, err := s.pass(t.Context(), true)
	require.NoError(t, err)
	p.lines = lines[9:] // the kubelet has deleted the old file
	finish(t, s)
	require.Equal(t, texts(lines), *got)
}

func TestEmitError(t *testing.T) {
	s := newStream(&paperLog{lines: sample()}, time.Time{}, 0, func(time.Time, []byte) error { return io.ErrClosedPipe })
	_, err := s.pass(t.Context(), true)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	var gone errEmit
	require.ErrorAs(t, err, &gone)
}

// TestBusyLog checks that fewer seconds are remembered if a container writes more lines than can be
// remembered.
func TestBusyLog(t *testing.T) {
	s, _ := read(&paperLog{}, time.Time{}, 0)
	s.most = 1000
	at := somewhen
	for range 20_000 {
		at = at.Add(time.Millisecond)
		_, err := s.take([]byte(at.Format(time.RFC3339Nano)+" x"), nil)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(s.order), 2000)
}

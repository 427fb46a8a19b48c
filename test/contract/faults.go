//go:build linux

package contract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
)

// gatedWriter accepts one write for each token.
type gatedWriter struct {
	tokens chan struct{}
	n      int
}

func (g *gatedWriter) Write(p []byte) (int, error) {
	if _, ok := <-g.tokens; !ok {
		g.n += len(p)
		return len(p), nil
	}
	g.n += len(p)
	return len(p), nil
}

// slowBesideFast checks that eight readers that read nothing do not keep a ninth reader from its output.
func slowBesideFast(t *testing.T, way Way) {
	_, l := open(t, way)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const size = 2 << 20
	var slow []*gatedWriter
	var sessions []*link.Session
	for range 8 {
		g := &gatedWriter{tokens: make(chan struct{})}
		s, err := l.Open(ctx, "", sh(fmt.Sprintf("head -c %d /dev/zero", size)), link.Streams{Stdout: g})
		require.NoError(t, err)
		slow, sessions = append(slow, g), append(sessions, s)
	}
	h := sha256.New()
	rec := run(t, l, sh(fmt.Sprintf("head -c %d /dev/zero", 8*size)), nil, h, nil)
	require.Zero(t, rec.Code)
	require.EqualValues(t, 8*size, rec.Stdout)
	for i, g := range slow {
		close(g.tokens)
		rec, err := sessions[i].Wait(ctx)
		require.NoError(t, err)
		require.Zero(t, rec.Code)
		require.Equal(t, size, g.n)
	}
}

// CutResult is the result of a session whose link was cut.
type CutResult struct {
	Cuts     int  `json:"cuts"`
	Bytes    int  `json:"bytes"` // each way
	Equal    bool `json:"sha256_equal"`
	Launches int  `json:"launches"`
	Exit     int  `json:"exit_code"`
	Redials  int  `json:"redials"`
}

// Cuts carries size bytes each way through one session that exits with 42, and cuts its link at random moments,
// cuts times in all.
func Cuts(t *testing.T, way Way, cuts, size int) CutResult {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w, l := open(t, way)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	h := sha256.New()
	var errs bytes.Buffer
	seen := make(chan int, 1024)
	out := &counting{w: h, seen: seen}
	s, err := l.Open(ctx, "", sh("echo started >>starts; echo on stderr >&2; cat; exit 42"),
		link.Streams{Stdin: io.NopCloser(noise(seed, int64(size))), Stdout: out, Stderr: &errs})
	require.NoError(t, err)
	over := make(chan struct{})
	var rec struct {
		code int
		err  error
	}
	go func() {
		defer close(over)
		r, err := s.Wait(ctx)
		rec.code, rec.err = r.Code, err
		out.stop()
	}()
	total := 0
	for i := range cuts {
		next := (i + 1) * size / (cuts + 1)
		next += rng.IntN(size/(cuts+1)+1) - size/(cuts+1)/2
		for total < next {
			n, ok := <-seen
			if !ok {
				break
			}
			total += n
		}
		way.Cut()
	}
	for range seen {
	}
	<-over
	require.NoError(t, rec.err)
	require.Equal(t, "on stderr\n", errs.String())
	starts, err := os.ReadFile(w.Dir + "/starts")
	require.NoError(t, err)
	return CutResult{Cuts: cuts, Bytes: size, Exit: rec.code, Launches: strings.Count(string(starts), "\n"),
		Equal: sum(t, noise(seed, int64(size))) == fmt.Sprintf("%x", h.Sum(nil)), Redials: l.State().Redials}
}

// RequireWhole fails the test unless all bytes arrived and nothing ran twice.
func (r CutResult) RequireWhole(t *testing.T) {
	t.Helper()
	require.True(t, r.Equal, "SHA-256 of the output")
	require.Equal(t, 1, r.Launches)
	require.Equal(t, 42, r.Exit)
	require.Positive(t, r.Redials)
}

// counting reports how many bytes each write had.
type counting struct {
	w    io.Writer
	seen chan int
}

func (c *counting) Write(p []byte) (int, error) {
	c.seen <- len(p)
	return c.w.Write(p)
}

func (c *counting) stop() { close(c.seen) }

func randomCuts(t *testing.T, way Way) {
	Cuts(t, way, 20, 8<<20).RequireWhole(t)
}

func refusedAfterCut(t *testing.T, way Way) {
	if way.Refuse == nil {
		way.Refuse = func(time.Duration) {}
	}
	_, l := open(t, way)
	var out bytes.Buffer
	pr, pw := io.Pipe()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := l.Open(ctx, "", sh("cat; exit 9"), link.Streams{Stdin: pr, Stdout: &out})
	require.NoError(t, err)
	for i := range 3 {
		fmt.Fprintf(pw, "line %d\n", i)
		way.Refuse(2 * time.Second)
		way.Cut()
		fmt.Fprintf(pw, "line %d again\n", i)
	}
	require.NoError(t, pw.Close())
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, 9, rec.Code)
	require.Equal(t, "line 0\nline 0 again\nline 1\nline 1 again\nline 2\nline 2 again\n", out.String())
}

package local_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// pieces records the writes of both outputs of a session, in order.
type pieces struct {
	mu  sync.Mutex
	all []string
}

func (p *pieces) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, string(b))
	return len(b), nil
}

// gathered returns the pieces in which the output of a shell line arrives if it is gathered for a
// second.
func gathered(t *testing.T, l *link.Link, line string) []string {
	var out pieces
	s, err := l.Open(t.Context(), "", wire.Spec{Argv: []string{"/bin/sh", "-c", line}, GatherMillis: 1000}, link.Streams{Stdout: &out, Stderr: &out})
	require.NoError(t, err)
	exit, err := s.Wait(t.Context())
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	return out.all
}

func TestLinesGather(t *testing.T) {
	// The pause is for a busy machine: the first line must be read before there is a second one.
	got := gathered(t, linked(t), "echo 1; sleep 0.6; for i in 2 3 4 5; do echo $i; sleep 0.05; done")
	require.Equal(t, "1\n2\n3\n4\n5\n", strings.Join(got, ""))
	require.Equal(t, "1\n", got[0], "the first line is sent at once")
	require.LessOrEqual(t, len(got), 3, "%q", got)
}

// TestGatheredOutputsKeepTheirOrder checks that held-back output of one stream is sent before later
// output of the other stream.
func TestGatheredOutputsKeepTheirOrder(t *testing.T) {
	l := linked(t)
	for _, line := range []string{
		"echo a; sleep 0.1; echo b; sleep 0.1; echo c >&2; sleep 0.1",
		"echo a >&2; sleep 0.1; echo b >&2; sleep 0.1; echo c; sleep 0.1",
	} {
		require.Equal(t, "a\nb\nc\n", strings.Join(gathered(t, l, line), ""), line)
	}
}

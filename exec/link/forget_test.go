//go:build linux

package link_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestForgettingAnUnknownSessionSparesTheOwnSession checks that a link that makes the worker forget
// an unknown session of its epoch does not end the link's own session with the same number.
func TestForgettingAnUnknownSessionSparesTheOwnSession(t *testing.T) {
	w := contract.NewWorker(t, nil)
	first := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	_, pid := start(t, first, "echo $$; exec sleep 1000")
	first.Lose(link.Gone, io.EOF) // the session continues on the worker

	second := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	var out bytes.Buffer
	s, err := second.Open(ctxFor(t), "", wire.Spec{Line: "cat; exit 3"}, link.Streams{
		Stdin: io.NopCloser(strings.NewReader("still heard\n")), Stdout: &out})
	require.NoError(t, err)
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, 3, rec.Code)
	require.Equal(t, "still heard\n", out.String())
	requireGone(t, pid)
}

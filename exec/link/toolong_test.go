//go:build linux

package link_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestCommandTooLongForAFrame checks that a command that does not fit into a frame is an error of
// its caller, and does not affect the link or other sessions on it.
func TestCommandTooLongForAFrame(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	require.Eventually(t, func() bool { return l.State().Connected }, 10*time.Second, time.Millisecond)
	_, err := l.Open(ctxFor(t), "", wire.Spec{Env: []string{"A=" + strings.Repeat("x", 3200<<10)}, Line: "true"}, link.Streams{})
	require.ErrorContains(t, err, "open session: its command and environment are too long")

	var out bytes.Buffer
	s, err := l.Open(ctxFor(t), "", wire.Spec{Env: []string{"A=" + strings.Repeat("x", 100<<10)}, Line: "echo ${#A}"}, link.Streams{Stdout: &out})
	require.NoError(t, err)
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Zero(t, rec.Code, rec.Error)
	require.Equal(t, "102400\n", out.String())
	require.Zero(t, l.State().Redials)
}

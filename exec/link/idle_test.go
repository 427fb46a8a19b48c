//go:build linux

package link_test

import (
	"bytes"
	"errors"
	"regexp"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// inLinks matches the stack of a goroutine of this package.
var inLinks = regexp.MustCompile(`(?m)^github\.com/musterhq/muster/exec/link\.\(`)

// goroutinesOfLinks counts the goroutines of links and their sessions.
func goroutinesOfLinks(t *testing.T) (n int) {
	var all bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 2))
	for one := range bytes.SplitSeq(all.Bytes(), []byte("\n\n")) {
		if inLinks.Match(one) {
			n++
		}
	}
	return n
}

// TestIdleLinkHasOneGoroutine checks what ten thousand links of a launcher cost: while their processes
// run and print nothing, each has one goroutine.
func TestIdleLinkHasOneGoroutine(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) { c.PingEvery = 20 * time.Millisecond })
	s, _ := start(t, l, "echo $$; exec sleep 1000")
	ended := make(chan struct{})
	require.True(t, s.Then(func() { close(ended) }))
	require.Eventually(t, func() bool { return goroutinesOfLinks(t) == 1 }, 10*time.Second, time.Millisecond)
	s.Stop(time.Second)
	<-ended
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonStopped, rec.Reason)
	require.False(t, s.Then(func() { t.Error("called for a session that had ended") }))
}

// TestConfirmed checks that a session that was opened while the link was down reports once that its worker
// has it. One whose worker cannot be reached reports when it is lost.
func TestConfirmed(t *testing.T) {
	w := contract.NewWorker(t, nil)
	begin := make(chan struct{})
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) { c.Dialer = delayed(begin, c.Dialer) })
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "exec sleep 1000"}, link.Streams{})
	require.NoError(t, err)
	confirmed := make(chan struct{}, 2)
	require.True(t, s.Confirmed(func() { confirmed <- struct{}{} }))
	require.Empty(t, confirmed, "the link is down")
	close(begin)
	<-confirmed
	require.False(t, s.Confirmed(nil))
	s.Stop(0)
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Empty(t, confirmed, "it is called once")

	never := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) { c.Dialer = delayed(nil, c.Dialer) })
	s, err = never.Open(ctxFor(t), "", wire.Spec{Line: "true"}, link.Streams{})
	require.NoError(t, err)
	require.True(t, s.Confirmed(func() { confirmed <- struct{}{} }))
	never.Lose(link.Gone, errors.New("its pod is gone"))
	<-confirmed
}

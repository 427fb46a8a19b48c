//go:build linux

package link_test

import (
	"bytes"
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

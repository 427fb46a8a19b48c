//go:build linux

package session

import (
	"bufio"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// PID 1 takes the bridge along when it exits: it does not before the launcher has
// its answer, which it shows by closing the connection.
func TestTheAnswerToEndIsWaitedFor(t *testing.T) {
	s, c := linked(t, 0)
	hello(t, c)
	r := wire.NewReader(bufio.NewReader(c))
	next(t, r, wire.Welcome, &wire.WelcomeRecord{})
	send(t, c, wire.End, 0, wire.EndRecord{})
	for f := (wire.Frame{}); f.Type != wire.Ended; {
		var err error
		f, err = r.Next()
		require.NoError(t, err)
	}
	select {
	case <-s.Outcome():
		t.Fatal("PID 1 exits while its answer may be on its way")
	case <-time.After(partTime / 10):
	}
	c.Close()
	select {
	case o := <-s.Outcome():
		require.Equal(t, JobOver, o)
	case <-time.After(partTime / 2):
		t.Fatal("PID 1 waits for somebody who has gone")
	}
}

func TestNobodyHoldsUpTheEnd(t *testing.T) {
	s, c := linked(t, 0)
	hello(t, c)
	send(t, c, wire.End, 0, wire.EndRecord{})
	select {
	case o := <-s.Outcome():
		require.Equal(t, JobOver, o)
	case <-time.After(10 * time.Second):
		t.Fatal("a launcher that does not close holds PID 1 up")
	}
}

//go:build linux

package session

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// linked returns a server that cannot start processes, and the launcher's end of its link.
func linked(t *testing.T, sessions int) (*Server, *net.UnixConn) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	reaper := reap.New()
	require.NoError(t, reaper.Run(ended))
	s := New(Config{Reaper: reaper, Log: slog.New(slog.DiscardHandler), Dir: "/"})
	for i := range sessions {
		id := fmt.Sprintf("%032d", i)
		s.sessions[id] = s.newSession(wire.OpenRecord{ID: id})
	}
	ours, theirs := pair(t)
	ctx, stop := context.WithCancel(context.Background())
	s.wg.Go(func() { s.serveConn(ctx, ours) })
	t.Cleanup(func() {
		theirs.Close()
		stop()
		s.abandon()
		s.wg.Wait()
	})
	require.NoError(t, theirs.SetDeadline(time.Now().Add(20*time.Second)))
	return s, theirs
}

func send(t *testing.T, c net.Conn, typ wire.Type, channel uint32, rec any) {
	f, err := wire.Record(typ, channel, rec)
	require.NoError(t, err)
	b, err := wire.Append(nil, f)
	require.NoError(t, err)
	_, err = c.Write(b)
	require.NoError(t, err)
}

func hello(t *testing.T, c net.Conn) {
	send(t, c, wire.Hello, 0, wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, LeaseSeconds: 60, Epoch: wire.Epoch{UID: "a"}})
}

// next reads frames until the first frame of type typ.
func next(t *testing.T, r *wire.Reader, typ wire.Type, rec any) {
	for {
		f, err := r.Next()
		require.NoError(t, err)
		if f.Type == typ {
			require.NoError(t, f.Decode(rec))
			return
		}
	}
}

// TestLongErrorsFitTheirRecord checks that a long error is cut. An error too long for a frame would
// end this connection and each later one.
func TestLongErrorsFitTheirRecord(t *testing.T) {
	_, c := linked(t, 0)
	hello(t, c)
	r := wire.NewReader(c)
	spec := wire.Spec{Argv: []string{strings.Repeat("n", 100<<10)}, Env: []string{"PATH=/" + strings.Repeat("p", 100<<10)}}
	send(t, c, wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec})
	var rec wire.ExitRecord
	next(t, r, wire.Exit, &rec)
	require.Equal(t, 127, rec.Code)
	require.True(t, strings.HasPrefix(rec.Error, "start nnn"))
	require.Less(t, len(rec.Error), 5<<10)
}

func TestManySessionsFitAWelcome(t *testing.T) {
	_, c := linked(t, 5000)
	hello(t, c)
	var w wire.WelcomeRecord
	next(t, wire.NewReader(c), wire.Welcome, &w)
	require.Greater(t, len(w.Sessions), 100)
	_, c = linked(t, 50)
	hello(t, c)
	next(t, wire.NewReader(c), wire.Welcome, &w)
	require.Len(t, w.Sessions, 50)
}

func TestInvalidIDsAreRefused(t *testing.T) {
	for _, id := range []string{"", "a b", "a\x00b", "a\nb", "ä", strings.Repeat("x", longestID+1)} {
		require.False(t, validID(id), "%q", id)
	}
	for _, id := range []string{"s", wire.NewID(), strings.Repeat("x", longestID)} {
		require.True(t, validID(id), "%q", id)
	}
}

// TestUnreadAnswersAreBounded checks that a launcher that keeps sending requests and never reads is
// disconnected.
func TestUnreadAnswersAreBounded(t *testing.T) {
	_, c := linked(t, 0)
	hello(t, c)
	ping, err := wire.Append(nil, wire.Frame{Type: wire.Ping})
	require.NoError(t, err)
	many := []byte(strings.Repeat(string(ping), 1000))
	for range 1000 {
		if _, err = c.Write(many); err != nil {
			break
		}
	}
	require.Error(t, err, "a million pings were accepted")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the launcher was not disconnected")
}

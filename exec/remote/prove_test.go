package remote

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/fakekube"
)

func isSPDY(r *http.Request) bool { return r.Method == http.MethodPost }

// TestBlockedSPDYFallsBack checks that, until a SPDY stream has been opened, anything that may
// block SPDY is a reason to try a WebSocket. If the WebSocket works, it is used from then on.
func TestBlockedSPDYFallsBack(t *testing.T) {
	for name, hinder := range map[string]func(world){
		"a missing permission":     func(w world) { w.server.Fail(fakekube.Failure{Code: 403, Match: isSPDY}) },
		"a proxy that answers 400": func(w world) { w.exec.Refuse(fakekube.SPDY, 400, "no") },
		"a proxy that answers 403": func(w world) { w.exec.Refuse(fakekube.SPDY, 403, "no") },
		"no answer": func(w world) {
			w.server.Fail(fakekube.Failure{Code: 500, Match: isSPDY, Hang: 2 * headStart, Count: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := on(t, fakekube.SPDY, echo)
			w.dialer.proto.memory.opened = 0
			hinder(w)
			for range 2 {
				conn := w.dial(t)
				_, err := conn.Write([]byte("x"))
				require.NoError(t, err)
				_, err = io.ReadFull(conn, make([]byte, 1))
				require.NoError(t, err)
				require.NoError(t, conn.Close())
			}
			require.Equal(t, "WebSocket", w.dialer.proto.String())
			require.Equal(t, 2, w.exec.Dials()[fakekube.WebSocket])
			require.Len(t, w.server.Requests(), 3, "SPDY is tried once")
		})
	}
}

// TestOpenedSPDYIsKept checks that an error about the request says nothing about the protocol, and
// that an opened stream proves the protocol.
func TestOpenedSPDYIsKept(t *testing.T) {
	w := on(t, fakekube.SPDY, echo)
	w.dialer.proto.memory.opened = 0
	for code, want := range map[int]link.Kind{401: link.Unauthorized, 404: link.NotFound, 503: link.Server} {
		w.server.Fail(fakekube.Failure{Code: code, Count: 1})
		_, err := w.dialer.Dial(t.Context())
		require.Equal(t, want, kind(t, err))
	}
	require.Len(t, w.server.Requests(), 3)
	require.NoError(t, w.dial(t).Close())
	w.server.Fail(fakekube.Failure{Code: 403, Count: 1})
	_, err := w.dialer.Dial(t.Context())
	require.Equal(t, link.Forbidden, kind(t, err))
	require.NoError(t, w.dial(t).Close())
	require.Equal(t, "SPDY", w.dialer.proto.String())
	require.Equal(t, map[string]int{fakekube.SPDY: 2}, w.exec.Dials())
}

// TestRefusalNamesTheRight checks that the answer that names the missing right is reported, whichever protocol was
// first. A server since 1.35 answers the other one with nothing after "is forbidden: ".
func TestRefusalNamesTheRight(t *testing.T) {
	to := Target{Namespace: "ns", Pod: "pi-worker-0"}
	refused := func(message string) error {
		return &link.DialError{Kind: link.Forbidden, Err: &ForbiddenError{Target: to, Message: message}}
	}
	spdy, webSocket := refused(`pods "pi-worker-0" is forbidden: User "x" cannot create resource "pods/exec"`), refused(`pods "pi-worker-0" is forbidden: `)
	for _, first := range []Transport{SPDY, WebSocket} {
		r := &race{first: first, failed: [2]error{SPDY: spdy, WebSocket: webSocket}}
		require.Equal(t, spdy, r.err(), first)
	}
}

// TestBothProtocolsFail checks that, if both protocols fail, an error is
// reported, and no protocol is remembered.
func TestBothProtocolsFail(t *testing.T) {
	w := on(t, fakekube.SPDY, echo)
	w.dialer.proto.memory.opened = 0
	w.server.Fail(fakekube.Failure{Code: 403, Count: 2})
	_, err := w.dialer.Dial(t.Context())
	require.Equal(t, link.Forbidden, kind(t, err))
	require.Equal(t, "SPDY", w.dialer.proto.String())
	w.server.Stop()
	_, err = w.dialer.Dial(t.Context())
	require.Equal(t, link.Unreachable, kind(t, err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.dialer.Dial(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

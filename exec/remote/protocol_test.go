package remote

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/fakekube"
)

func TestMemoryAfterADial(t *testing.T) {
	works, passes := outcome{SPDY, SPDY, false}, outcome{SPDY, WebSocket, false}
	for name, c := range map[string]struct {
		before memory
		dials  []outcome
		want   memory
	}{
		"the first stream":                      {memory{}, []outcome{works}, memory{SPDY, 1, 0}},
		"never worked, the other gets through":  {memory{}, []outcome{passes}, memory{WebSocket, 1, 0}},
		"worked, one dial was blocked":          {memory{SPDY, 5, 0}, []outcome{passes}, memory{SPDY, 5, 1}},
		"worked, dials were blocked in between": {memory{SPDY, 5, 0}, []outcome{passes, passes, works, passes, passes}, memory{SPDY, 6, 2}},
		"worked, blocked three times in a row":  {memory{SPDY, 5, 0}, []outcome{passes, passes, passes}, memory{WebSocket, 1, 0}},
		"worked, then refused":                  {memory{SPDY, 5, 0}, []outcome{{SPDY, WebSocket, true}}, memory{WebSocket, 1, 0}},
		"a dial that began before the change":   {memory{WebSocket, 1, 0}, []outcome{works, passes}, memory{WebSocket, 1, 0}},
		"changed back":                          {memory{WebSocket, 1, 0}, []outcome{{WebSocket, SPDY, true}}, memory{SPDY, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.before
			for _, o := range c.dials {
				m = m.after(o)
			}
			require.Equal(t, c.want, m)
		})
	}
}

// TestOnlyUsesOneTransport checks that a fixed transport has no other to fall back to.
func TestOnlyUsesOneTransport(t *testing.T) {
	for fixed, protocol := range map[Transport]string{SPDY: fakekube.SPDY, WebSocket: fakekube.WebSocket} {
		w := on(t, protocol, echo)
		w.dialer.proto = Only(fixed)
		require.NoError(t, w.dial(t).Close())
		w.exec.Refuse(protocol, 400, "no")
		_, err := w.dialer.Dial(t.Context())
		require.Equal(t, link.Server, kind(t, err))
		require.Equal(t, map[string]int{protocol: 2}, w.exec.Dials())
	}
}

// TestChangeIsReportedOnce checks that many links that meet a gateway report it once.
func TestChangeIsReportedOnce(t *testing.T) {
	var to []Transport
	p := &Protocol{Changed: func(now Transport, _ error) { to = append(to, now) }}
	for range 5 {
		p.note(outcome{tried: SPDY, opened: WebSocket}, errors.New("blocked"))
	}
	require.Equal(t, []Transport{WebSocket}, to)
}

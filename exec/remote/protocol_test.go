package remote

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

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

func TestPreferredTransport(t *testing.T) {
	measured := []choice{{0, SPDY}, {36, WebSocket}, {40, SPDY}}
	for minor, want := range map[int]Transport{0: SPDY, 34: SPDY, 35: SPDY, 36: WebSocket, 39: WebSocket, 40: SPDY, 99: SPDY} {
		require.Equal(t, want, preferred(minor, measured), minor)
	}
	require.Zero(t, cheapest[0].since, "each server has a line")
	for i := 1; i < len(cheapest); i++ {
		require.Greater(t, cheapest[i].since, cheapest[i-1].since, "oldest first")
		require.NotEqual(t, cheapest[i].first, cheapest[i-1].first, "a line that changes nothing")
	}
}

func TestServerMinor(t *testing.T) {
	for body, want := range map[string]int{
		`{"major":"1","minor":"37","gitVersion":"v1.37.2"}`: 37,
		`{"major":"1","minor":"34+","platform":"linux"}`:    34,
		`{"major":"2","minor":"0"}`:                         -1,
		`{"major":"1","minor":""}`:                          -1,
		`{"kind":"Status"}`:                                 -1,
		`<html>`:                                            -1,
	} {
		minor, known := parseMinor([]byte(body))
		require.Equal(t, want >= 0, known, body)
		if known {
			require.Equal(t, want, minor, body)
		}
	}
}

// measured sets the table of cheapest transports for a test.
func measured(t *testing.T, table ...choice) {
	before := cheapest
	cheapest = table
	t.Cleanup(func() { cheapest = before })
}

// TestVersionDecidesOnce checks that the dialers of a Protocol ask for the version together, and that
// they ask only if it matters.
func TestVersionDecidesOnce(t *testing.T) {
	for name, c := range map[string]struct {
		table  []choice
		code   int
		body   string
		want   string
		asked  int
		shared *Protocol
	}{
		"an old server":      {table: []choice{{0, SPDY}, {36, WebSocket}}, code: 200, body: `{"major":"1","minor":"35"}`, want: "SPDY", asked: 1},
		"a new server":       {table: []choice{{0, SPDY}, {36, WebSocket}}, code: 200, body: `{"major":"1","minor":"36"}`, want: "WebSocket", asked: 1},
		"a forbidden answer": {table: []choice{{0, SPDY}, {36, WebSocket}}, code: 403, want: "SPDY", asked: 1},
		"one for all":        {table: []choice{{0, SPDY}}, code: 200, body: `{"major":"1","minor":"37"}`, want: "SPDY"},
		"a fixed transport":  {table: []choice{{0, SPDY}, {36, WebSocket}}, code: 200, body: `{"major":"1","minor":"37"}`, want: "SPDY", shared: Only(SPDY)},
	} {
		t.Run(name, func(t *testing.T) {
			measured(t, c.table...)
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/version" {
					fakekube.WriteStatus(w, 503, "not now")
					return
				}
				asked++
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			client, err := rest.UnversionedRESTClientFor(&rest.Config{Host: server.URL, APIPath: "/api", ContentConfig: rest.ContentConfig{
				GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
			}})
			require.NoError(t, err)
			defer client.Client.CloseIdleConnections()
			if c.shared == nil {
				c.shared = &Protocol{}
			}
			for range 3 {
				_, err := New(&rest.Config{Host: server.URL}, client, target, c.shared).Dial(t.Context())
				require.Equal(t, link.Server, kind(t, err))
			}
			require.Equal(t, c.want, c.shared.String())
			require.Equal(t, c.asked, asked)
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

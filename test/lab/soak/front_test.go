//go:build soak

package soak

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/fakekube"
)

// front is the API server's frontend: TLS, HTTP/2, and a bearer token that is valid
// until the next rotation.
type front struct {
	server *httptest.Server
	ca     string // PEM

	mu      sync.Mutex
	token   string
	refused int         // requests with another token
	execs   []time.Time // times of pods/exec requests with the right token
}

func newFront(t *testing.T, api *fakekube.Server) *front {
	to, err := url.Parse(api.URL())
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // for watches
	f := &front{}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.admit(r) {
			fakekube.WriteStatus(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	f.server.EnableHTTP2 = true
	f.server.StartTLS()
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	f.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw}))
	return f
}

func (f *front) admit(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+f.token {
		f.refused++
		return false
	}
	if strings.HasSuffix(r.URL.Path, "/exec") {
		f.execs = append(f.execs, time.Now())
	}
	return true
}

// rotate makes token the only valid one.
func (f *front) rotate(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token = token
}

// status returns the HTTP status of a request with a token.
func (f *front) status(t *testing.T, token string) int {
	req, err := http.NewRequest(http.MethodGet, f.server.URL+"/api/v1/namespaces/"+namespace+"/pods", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := f.server.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// execAfter returns the time of the first exec request after at, or zero if there is none yet.
func (f *front) execAfter(at time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.execs {
		if e.After(at) {
			return e
		}
	}
	return time.Time{}
}

func (f *front) refusals() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

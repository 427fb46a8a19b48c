package remote

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// TestDialsResumeTLS checks that the dials of a launcher share a TLS session. A dial with a client
// certificate has a new session each time.
func TestDialsResumeTLS(t *testing.T) {
	resumed := make(chan bool, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resumed <- r.TLS.DidResume
		http.NotFound(w, r)
	}))
	defer server.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	token := &rest.Config{Host: server.URL, BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{CAData: certificate}}
	own := rest.CopyConfig(token)
	own.CertData, own.KeyData = certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for _, tc := range []struct {
		name string
		cfg  *rest.Config
		want []bool
	}{
		{"with a token", token, []bool{false, true, true}},
		{"with a certificate", own, []bool{false, false, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proto := &Protocol{}
			for i, want := range tc.want {
				_, err := New(tc.cfg, nil, Target{Namespace: "n", Pod: "p", Container: "c"}, proto).Dial(t.Context())
				require.Error(t, err, "the server has no exec")
				require.Equal(t, want, <-resumed, "dial %d", i)
			}
		})
	}
}

// TestResumptionComparesAuthorities checks that a client with other certificate authorities does
// not resume a session that the first client verified.
func TestResumptionComparesAuthorities(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.NotFound(w, r)
	}))
	defer server.Close()
	known := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}}
	proto := &Protocol{}
	_, err := New(known, nil, Target{Pod: "p"}, proto).Dial(t.Context())
	require.Error(t, err)
	require.Equal(t, 1, asked)
	_, err = New(&rest.Config{Host: server.URL}, nil, Target{Pod: "p"}, proto).Dial(t.Context())
	require.ErrorContains(t, err, "certificate")
	require.Equal(t, 1, asked)
}

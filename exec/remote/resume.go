package remote

import (
	"crypto/tls"

	"k8s.io/client-go/rest"
)

// resumed is the TLS of one dial, which takes up where an earlier one to the same
// server has begun: a thousand handshakes need one signature then, and one look at its
// certificates. With certificates of our own there is none of that: what the
// server knows us by would outlast their renewal.
func (p *Protocol) resumed(cfg *rest.Config) (*tls.Config, error) {
	c, err := rest.TLSConfigFor(cfg)
	if err != nil || c == nil || len(c.Certificates) > 0 || c.GetClientCertificate != nil {
		return c, err
	}
	p.once.Do(func() { p.sessions = tls.NewLRUClientSessionCache(0) })
	c.ClientSessionCache = p.sessions
	return c, nil
}

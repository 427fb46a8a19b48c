package remote

import (
	"crypto/tls"

	"k8s.io/client-go/rest"
)

// resumed returns a TLS config with session resumption. A thousand handshakes then need one
// signature and one check of the server's certificates. Resumption is disabled for client
// certificates: a resumed session would outlive their rotation.
func (p *Protocol) resumed(cfg *rest.Config) (*tls.Config, error) {
	c, err := rest.TLSConfigFor(cfg)
	if err != nil || c == nil || len(c.Certificates) > 0 || c.GetClientCertificate != nil {
		return c, err
	}
	p.once.Do(func() { p.sessions = tls.NewLRUClientSessionCache(0) })
	c.ClientSessionCache = p.sessions
	return c, nil
}

//go:build linux

package manager

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConfigure checks what Kueue itself requires. Its certificate is valid for its Service and 127.0.0.1, for 90 days
// and more, so Kueue does not replace it. The list of frameworks is not null.
func TestConfigure(t *testing.T) {
	dir := t.TempDir()
	path, err := Configure(dir, "1234", func(all map[string]any) { all["more"] = true })
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, want := range []string{"port: 1234", "certDir: " + dir, "more: true", "frameworks: []", "LaunchJob.v1alpha1.muster.dev"} {
		require.Contains(t, string(text), want)
	}
	_, err = tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	require.NoError(t, err)
	crt, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	require.NoError(t, err)
	block, _ := pem.Decode(crt)
	parsed, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	for _, name := range []string{"127.0.0.1", "kueue-ca", "kueue-webhook-service.kueue-system.svc"} {
		_, err := parsed.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: time.Now().AddDate(0, 0, 91)})
		require.NoError(t, err, name)
	}
}

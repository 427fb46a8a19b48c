// Package keys makes the keys of a Kubernetes cluster: an authority, certificates and kubeconfigs.
package keys

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificate is a key pair signed by the cluster's own authority. Kubernetes reads the user from the common name and
// the groups from the organizations.
type Certificate struct {
	File  string // FILE.crt and FILE.key in the directory
	User  string
	Group string
	Names []string // DNS names and addresses that it is valid for
}

// Dir is a directory with the keys of a cluster.
type Dir string

// File returns the path of a file in the directory.
func (d Dir) File(name string) string { return filepath.Join(string(d), name) }

// Make writes the authority (ca), the service-account key and the certificates that do not exist yet.
func (d Dir) Make(list []Certificate) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	ca, caKey, err := d.authority()
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	if err := d.serviceAccountKey(); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	for _, cert := range list {
		if exists(d.File(cert.File + ".crt")) {
			continue
		}
		if err := d.sign(cert, ca, caKey); err != nil {
			return fmt.Errorf("certificate %s: %w", cert.File, err)
		}
	}
	return nil
}

func (d Dir) authority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	if !exists(d.File("ca.crt")) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		t := template("muster-cluster-ca", "")
		t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
		if err != nil {
			return nil, nil, err
		}
		if err := d.writePair("ca", der, key); err != nil {
			return nil, nil, err
		}
	}
	crt, err := ReadPEM(d.File("ca.crt"))
	if err != nil {
		return nil, nil, err
	}
	ca, err := x509.ParseCertificate(crt)
	if err != nil {
		return nil, nil, err
	}
	raw, err := ReadPEM(d.File("ca.key"))
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(raw)
	return ca, key, err
}

func (d Dir) sign(want Certificate, ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := template(want.User, want.Group)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, name := range want.Names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	return d.writePair(want.File, der, key)
}

func (d Dir) serviceAccountKey() error {
	if exists(d.File("service-account.pub")) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := WriteFile(d.File("service-account.key"), encode("EC PRIVATE KEY", private), 0o600); err != nil {
		return err
	}
	return WriteFile(d.File("service-account.pub"), encode("PUBLIC KEY", public), 0o644)
}

// writePair writes the key first, so that a certificate that exists has its key.
func (d Dir) writePair(file string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := WriteFile(d.File(file+".key"), encode("EC PRIVATE KEY", private), 0o600); err != nil {
		return err
	}
	return WriteFile(d.File(file+".crt"), encode("CERTIFICATE", der), 0o644)
}

func template(user, group string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(10, 0, 0),
	}
	if group != "" {
		t.Subject.Organization = []string{group}
	}
	return t
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// ReadPEM returns the first block of a PEM file.
func ReadPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("read %s: no PEM block", path)
	}
	return block.Bytes, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// renderKubeconfig returns a kubeconfig with a client certificate and all other data in the file itself.
func renderKubeconfig(server string, ca, crt, key []byte) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: muster
clusters:
- name: muster
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: muster
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: muster
  context: {cluster: muster, user: muster}
`, server, b64(ca), b64(crt), b64(key))
}

// Kubeconfig writes a kubeconfig with one of the certificates, for the API server at a URL.
func (d Dir) Kubeconfig(path, server, cert string) error {
	var parts [3][]byte
	for i, f := range []string{"ca.crt", cert + ".crt", cert + ".key"} {
		data, err := os.ReadFile(d.File(f))
		if err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
		parts[i] = data
	}
	return WriteFile(path, renderKubeconfig(server, parts[0], parts[1], parts[2]), 0o600)
}

// WriteFile replaces a file atomically, so that no reader sees half of it.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, data, mode); err != nil {
		return err
	}
	return os.Rename(part, path)
}

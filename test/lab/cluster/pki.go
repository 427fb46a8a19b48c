package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// certificate is a key pair signed by the cluster's own authority. Kubernetes reads the user from the common name and
// the groups from the organizations.
type certificate struct {
	file  string // pki/FILE.crt and pki/FILE.key
	user  string
	group string
	names []string // DNS names and addresses that it is valid for
}

// certificates returns the certificates of the whole cluster. Kubernetes' default RBAC rules expect these user names.
func certificates() []certificate {
	list := []certificate{
		{file: "apiserver", user: "kube-apiserver", names: []string{"127.0.0.1", serviceIP, hostIP, "localhost", "kubernetes",
			"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}},
		{file: "admin", user: "admin", group: "system:masters"},
		{file: "apiserver-kubelet", user: "kube-apiserver-kubelet-client", group: "system:masters"},
		{file: "kube-controller-manager", user: "system:kube-controller-manager"},
		{file: "kube-scheduler", user: "system:kube-scheduler"},
		{file: "kube-proxy", user: "system:kube-proxy"},
		{file: "coredns", user: "system:coredns"},
	}
	for _, n := range nodes() {
		list = append(list, certificate{file: n.name, user: "system:node:" + n.name, group: "system:nodes", names: []string{n.name, n.ip}})
	}
	return list
}

// makePKI writes the authority, the service-account key and the certificates that do not exist yet.
func (c cluster) makePKI() error {
	if err := os.MkdirAll(c.pki(""), 0o700); err != nil {
		return err
	}
	ca, caKey, err := c.authority()
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	if err := c.serviceAccountKey(); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	for _, cert := range certificates() {
		if exists(c.pki(cert.file + ".crt")) {
			continue
		}
		if err := c.sign(cert, ca, caKey); err != nil {
			return fmt.Errorf("certificate %s: %w", cert.file, err)
		}
	}
	return nil
}

func (c cluster) authority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	if !exists(c.pki("ca.crt")) {
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
		if err := c.writePair("ca", der, key); err != nil {
			return nil, nil, err
		}
	}
	crt, err := readPEM(c.pki("ca.crt"))
	if err != nil {
		return nil, nil, err
	}
	ca, err := x509.ParseCertificate(crt)
	if err != nil {
		return nil, nil, err
	}
	raw, err := readPEM(c.pki("ca.key"))
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(raw)
	return ca, key, err
}

func (c cluster) sign(want certificate, ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := template(want.user, want.group)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, name := range want.names {
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
	return c.writePair(want.file, der, key)
}

func (c cluster) serviceAccountKey() error {
	if exists(c.pki("service-account.pub")) {
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
	if err := writeFile(c.pki("service-account.key"), encode("EC PRIVATE KEY", private), 0o600); err != nil {
		return err
	}
	return writeFile(c.pki("service-account.pub"), encode("PUBLIC KEY", public), 0o644)
}

// writePair writes the key first, so that a certificate that exists has its key.
func (c cluster) writePair(file string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writeFile(c.pki(file+".key"), encode("EC PRIVATE KEY", private), 0o600); err != nil {
		return err
	}
	return writeFile(c.pki(file+".crt"), encode("CERTIFICATE", der), 0o644)
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

func readPEM(path string) ([]byte, error) {
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

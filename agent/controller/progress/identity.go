package progress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Secret is the name of the Secret with the server's certificate. All replicas of a controller share
// it, and jobs that run know it, so it must survive them. To replace it, delete it and restart the
// controller. Running programs then cannot report any more.
const Secret = "muster-controller-progress"

// validFor is how long a certificate is valid. Only pods that this controller creates trust it.
const validFor = 10 * 365 * 24 * time.Hour

// identity is a certificate that is its own authority.
type identity struct {
	pair tls.Certificate
	ca   []byte // PEM
}

// identityOf returns the certificate in the Secret of a namespace, and creates it if there is none.
func identityOf(ctx context.Context, reader client.Reader, api client.Client, namespace, host string, now time.Time) (*identity, error) {
	key := client.ObjectKey{Namespace: namespace, Name: Secret}
	have := &corev1.Secret{}
	err := reader.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		made, failed := newSecret(key, host, now)
		if failed != nil {
			return nil, failed
		}
		if err = api.Create(ctx, made); err == nil {
			have = made
		} else if apierrors.IsAlreadyExists(err) { // another replica was faster
			err = reader.Get(ctx, key, have)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("get the Secret %s/%s: %w", key.Namespace, key.Name, err)
	}
	id := &identity{ca: have.Data[corev1.TLSCertKey]}
	if id.pair, err = tls.X509KeyPair(id.ca, have.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return nil, fmt.Errorf("read the Secret %s/%s: %w", key.Namespace, key.Name, err)
	}
	if err := id.pair.Leaf.VerifyHostname(host); err != nil {
		return nil, fmt.Errorf("read the Secret %s/%s: %w", key.Namespace, key.Name, err)
	}
	return id, nil
}

// newSecret makes a Secret with a new certificate for a host.
func newSecret(key client.ObjectKey, host string, now time.Time) (*corev1.Secret, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validFor), // clocks of nodes differ
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{"app.kubernetes.io/component": "controller"}},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
		},
	}, nil
}

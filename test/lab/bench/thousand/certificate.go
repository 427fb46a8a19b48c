//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"strings"

	certv1 "k8s.io/api/certificates/v1"

	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/suite/kube"
)

// pair is a certificate and its key, as PEM.
type pair struct{ certificate, key []byte }

// certify has the cluster sign a serving certificate for our address, as it does for
// kubelets: its API server refuses any other.
func (w *world) certify(ctx context.Context) error {
	const name = "bench-thousand"
	node := "system:node:" + kwok.Node(0).Name
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: node, Organization: []string{"system:nodes"}}, IPAddresses: []net.IP{w.kubelet.IP}}, key)
	if err != nil {
		return fmt.Errorf("ask for a certificate: %w", err)
	}
	wish := certv1.CertificateSigningRequest{TypeMeta: kube.Kind("certificates.k8s.io/v1", "CertificateSigningRequest"), ObjectMeta: kube.Named(name),
		Spec: certv1.CertificateSigningRequestSpec{SignerName: certv1.KubeletServingSignerName,
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
			Usages:  []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageServerAuth}}}
	text, err := json.Marshal(wish)
	if err != nil {
		return err
	}
	remove := func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, space, nil, "delete", "csr", name, "--ignore-not-found")
		return err
	}
	if err := remove(ctx); err != nil { // of a run that was killed
		return err
	}
	w.Later("remove the certificate's request", remove)
	if _, err := kube.Kubectl(ctx, space, text, "create", "-f", "-", "--as="+node, "--as-group=system:nodes", "--as-group=system:authenticated"); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, space, nil, "certificate", "approve", name); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, space, nil, "wait", "csr/"+name, "--for=jsonpath={.status.certificate}", "--timeout=30s"); err != nil {
		return err
	}
	said, err := kube.Kubectl(ctx, space, nil, "get", "csr", name, "-o", "jsonpath={.status.certificate}")
	if err != nil {
		return err
	}
	w.pair.certificate, err = base64.StdEncoding.DecodeString(strings.TrimSpace(said))
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	w.pair.key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return err
}

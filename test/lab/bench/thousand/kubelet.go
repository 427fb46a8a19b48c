//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	certv1 "k8s.io/api/certificates/v1"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/fakekube"
	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/suite/kube"
)

// pods connects streams to the workers: sockets or players.
type pods interface {
	// join carries a stream of `agent attach` in a pod until it ends.
	join(pod string, in io.Reader, out io.Writer) error
}

// kubelet serves pods/exec to the API server for all simulated nodes, with the code
// that container runtimes use.
type kubelet struct {
	pods   pods
	served atomic.Int64
}

// serve serves until the listener is closed. Like a real kubelet, it requires a client certificate of
// the cluster's authority.
func (k *kubelet) serve(ln net.Listener, c farmConfig) error {
	pair, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return fmt.Errorf("serve pods/exec: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(c.Authority) {
		return errors.New("serve pods/exec: no certificate authority")
	}
	mux := http.NewServeMux()
	mux.Handle("/exec/{namespace}/{pod}/{container}", k)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.Default(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"http/1.1"}}}
	if err := server.ServeTLS(ln, "", ""); !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve pods/exec: %w", err)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fakekube.ServeSPDY(w, r, func(in io.Reader, out, _ io.Writer) (int, error) {
		pod, argv := r.PathValue("pod"), r.URL.Query()["command"]
		if !slices.Equal(argv, []string{names.AgentPath, "attach"}) || !filepath.IsLocal(pod) {
			return 0, fmt.Errorf("only %s attach is supported, not %q", names.AgentPath, argv)
		}
		k.served.Add(1)
		return 0, k.pods.join(pod, in, out)
	})
}

// sockets connects streams to the socket of the pod's PID 1, in place of `agent
// attach`. The directory has one for each pod.
type sockets string

func (dir sockets) join(pod string, in io.Reader, out io.Writer) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(string(dir), pod, names.WorkerSocket)})
	if err != nil {
		return err
	}
	defer conn.Close()
	// As in agent attach, both directions end when one has ended. The caller then closes the
	// stream, which ends the other loop's read.
	ended := make(chan error, 2)
	go func() { ended <- carry(conn, in) }()
	go func() { ended <- carry(out, conn) }()
	return <-ended
}

func carry(to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 32<<10))
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// pair is a certificate and its key, as PEM.
type pair struct{ certificate, key []byte }

// certify makes the cluster sign a serving certificate for our address, as it does for
// kubelets. The API server rejects any other certificate.
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
		return fmt.Errorf("request a certificate: %w", err)
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
	if err := remove(ctx); err != nil { // left behind by a run that was killed
		return err
	}
	w.Later("remove the certificate signing request", remove)
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

//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	cri "k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/musterhq/muster/agent/names"
)

// pods are what a stream leads to: sockets or players.
type pods interface {
	// join carries a stream of `agent attach` in a pod until it ends.
	join(pod string, in io.Reader, out io.Writer) error
}

// kubelet serves pods/exec to the API server for all played nodes, with the code
// that container runtimes use.
type kubelet struct {
	pods   pods
	served atomic.Int64
}

// serve answers until the listener is closed. Only who has a client certificate of
// the cluster's authority is answered, as real kubelets do.
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
	all := &cri.Options{Stdin: true, Stdout: true, Stderr: true}
	cri.ServeExec(w, r, k, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"],
		all, 4*time.Hour, 30*time.Second, cri.SupportedStreamingProtocols)
}

// ExecInContainer implements cri.Executor.
func (k *kubelet) ExecInContainer(_ context.Context, pod, _, _ string, argv []string, in io.Reader, out, _ io.WriteCloser,
	_ bool, _ <-chan cri.TerminalSize, _ time.Duration) error {
	if !slices.Equal(argv, []string{names.AgentPath, "attach"}) || !filepath.IsLocal(pod) {
		return fmt.Errorf("nothing but %s attach is there to run, not %q", names.AgentPath, argv)
	}
	k.served.Add(1)
	return k.pods.join(pod, in, out)
}

// sockets join streams to the socket of the pod's PID 1, in the place of `agent
// attach`. The directory has one for each pod.
type sockets string

func (dir sockets) join(pod string, in io.Reader, out io.Writer) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(string(dir), pod, names.WorkerSocket)})
	if err != nil {
		return err
	}
	defer conn.Close()
	// As in a bridge: when either way has ended, both have. The caller then ends the
	// stream, and with it the other loop's reading.
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

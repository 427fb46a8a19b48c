package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/fakekube"
)

// silent accepts connections, calls greet with each, and then sends nothing more.
func silent(t *testing.T, greet func(net.Conn)) (address string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	var tasks sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	tasks.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			tasks.Go(func() { greet(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		tasks.Wait()
	})
	return ln.Addr().String()
}

func answers(text string) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, text)
		}
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS()
	defer secure.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for _, c := range []struct {
		name, scheme string
		greet        func(net.Conn)
	}{
		{"accepts and is silent", "http", func(net.Conn) {}},
		{"accepts TLS and is silent", "https", func(net.Conn) {}},
		{"completes TLS, never answers HTTP", "https", func(conn net.Conn) { _, _ = io.Copy(io.Discard, tls.Server(conn, secure.TLS)) }},
		{"sends part of an answer", "http", answers("HTTP/1.1 403 Forbidden\r\nContent-Length: 99\r\n\r\n{")},
		{"upgrades, then is silent", "http", answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
			"Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, protocol string) {
				if protocol == fakekube.WebSocket && c.name == "upgrades, then is silent" {
					return // an upgraded WebSocket is already a stream
				}
				cfg := &rest.Config{Host: c.scheme + "://" + silent(t, c.greet), TLSClientConfig: rest.TLSClientConfig{ServerName: "example.com"}}
				if c.scheme == "https" {
					cfg.CAData = ca
				}
				proto := worked(protocol)
				dialer := New(cfg, nil, target, proto)

				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				_, err := dialer.Dial(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, link.Unreachable, kind(t, err))

				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, cancel)
				_, err = dialer.Dial(ctx)
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, link.Unreachable, kind(t, err))
			})
		})
	}
}

func TestStreamOutlivesTheContextOfDial(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, echo)
		ctx, cancel := context.WithCancel(t.Context())
		conn, err := w.dialer.Dial(ctx)
		require.NoError(t, err)
		cancel()
		_, err = conn.Write([]byte("still here"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, len("still here")))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	})
}

func TestUnreachable(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, echo)
		w.server.Stop()
		_, err := w.dialer.Dial(t.Context())
		require.Equal(t, link.Unreachable, kind(t, err))

		stranger := httptest.NewTLSServer(http.NotFoundHandler())
		defer stranger.Close()
		w.dialer.cfg.Host = stranger.URL
		_, err = w.dialer.Dial(t.Context())
		require.Equal(t, link.Unreachable, kind(t, err))
		require.ErrorContains(t, err, "certificate")
	})
}

func TestNotFoundIsConfirmed(t *testing.T) {
	const listPath = "/api/v1/namespaces/ns/pods"
	client := func(t *testing.T, host string) rest.Interface {
		c, err := rest.UnversionedRESTClientFor(&rest.Config{Host: host, APIPath: "/api", ContentConfig: rest.ContentConfig{
			GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		}})
		require.NoError(t, err)
		return c
	}
	for _, c := range []struct {
		name      string
		list, pod string // answers; "" means 403
		want      link.Kind
	}{
		{"pod does not exist", `{"kind":"PodList","items":[]}`, "", link.Gone},
		{"pod was replaced", `{"kind":"PodList","items":[{"metadata":{"uid":"uid-1"}}]}`, "", link.Gone},
		{"pod exists", `{"kind":"PodList","items":[{"metadata":{"uid":"uid-0"}}]}`, "", link.Server},
		{"the answer is not a list", `{"kind":"Status"}`, "", link.NotFound},
		{"only get: pod does not exist", "", "404", link.Gone},
		{"only get: pod was replaced", "", `{"metadata":{"uid":"uid-1"}}`, link.Gone},
		{"only get: pod exists", "", `{"metadata":{"uid":"uid-0"}}`, link.Server},
		{"neither list nor get", "", "", link.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := func(w http.ResponseWriter, body string) {
				switch body {
				case "":
					fakekube.WriteStatus(w, 403, "")
				case "404":
					fakekube.WriteStatus(w, 404, "")
				default:
					_, _ = io.WriteString(w, body)
				}
			}
			mux := http.NewServeMux()
			mux.HandleFunc(fakekube.ExecPath, func(w http.ResponseWriter, _ *http.Request) { fakekube.WriteStatus(w, 404, "pods not found") })
			mux.HandleFunc(listPath+"/pi-worker-0", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.pod) })
			mux.HandleFunc(listPath, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("fieldSelector") != "metadata.name=pi-worker-0" {
					t.Errorf("unexpected request for %s", r.URL)
				}
				answer(w, c.list)
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			rc := client(t, server.URL)
			defer rc.(*rest.RESTClient).Client.CloseIdleConnections()
			_, err := New(&rest.Config{Host: server.URL}, rc, target, &Protocol{}).Dial(t.Context())
			require.Equal(t, c.want, kind(t, err))
		})
	}
}

func TestLoadConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := filepath.Join(t.TempDir(), "config")
	writeFile(t, file, `apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: a, cluster: {server: "https://a:6443"}}
- {name: b, cluster: {server: "https://b:6443"}}
contexts:
- {name: one, context: {cluster: a, namespace: first}}
- {name: two, context: {cluster: b}}
`)
	for _, c := range []struct{ path, env, context, host, namespace string }{
		{file, "", "", "https://a:6443", "first"},
		{"", file, "", "https://a:6443", "first"},
		{file, "", "two", "https://b:6443", "default"},
	} {
		t.Setenv("KUBECONFIG", c.env)
		cfg, namespace, err := LoadConfig(c.path, c.context)
		require.NoError(t, err)
		require.Equal(t, c.host, cfg.Host)
		require.Equal(t, c.namespace, namespace)
		require.Negative(t, cfg.QPS)
	}
	_, _, err := LoadConfig(filepath.Join(t.TempDir(), "none"), "")
	require.ErrorContains(t, err, "read kubeconfig: ")
	_, _, err = LoadConfig(file, "three")
	require.ErrorContains(t, err, "three")
}

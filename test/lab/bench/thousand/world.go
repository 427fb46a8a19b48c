//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	space   = "bench-thousand"
	account = "launcher"
)

// world is the cluster, and what we have made in it and beside it.
type world struct {
	*measure.World
	bin      string // of the agent
	pod      string // the program that runs in the pods
	listener *os.File
	kubelet  *net.TCPAddr
	pair     pair
	access   string // kubeconfig of the launcher
}

// newWorld reaches the cluster, and listens on the address that its API server has.
func newWorld(bin string) (w *world, err error) {
	m, err := measure.New("thousand")
	if err != nil {
		return nil, err
	}
	w = &world{World: m}
	if w.bin, err = filepath.Abs(bin); err != nil {
		return w, err
	}
	at, err := url.Parse(w.Config.Host)
	if err != nil {
		return w, fmt.Errorf("read the API server's address: %w", err)
	}
	ln, err := net.Listen("tcp4", net.JoinHostPort(at.Hostname(), "0"))
	if err != nil {
		return w, fmt.Errorf("listen where the API server does (it must be one of this machine): %w", err)
	}
	defer ln.Close()
	w.kubelet = ln.Addr().(*net.TCPAddr)
	w.listener, err = ln.(*net.TCPListener).File()
	return w, err
}

// admit gives the launcher an account with the rights of the README's Role, and a
// kubeconfig with its token.
func (w *world) admit(ctx context.Context, workers int) error {
	w.Later("remove namespace", func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, space, nil, "delete", "namespace", space, "--ignore-not-found", "--timeout=3m")
		return err
	})
	if err := kube.Open(ctx, space, "muster.dev/bench"); err != nil {
		return err
	}
	if err := kube.Apply(ctx, space, kube.Access(account, podNames(workers))...); err != nil {
		return err
	}
	var err error
	w.access, err = w.Access(ctx, space, account, "2h")
	return err
}

// write keeps something for another process.
func (w *world) write(name string, v any) (path string, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	path = filepath.Join(w.Dir, name)
	return path, os.WriteFile(path, text, 0o600)
}

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	space   = "bench-thousand"
	account = "launcher"
)

// world is the cluster, and what we have made in it and beside it.
type world struct {
	cfg      *rest.Config
	client   client.Client
	audit    string // path of the API server's log
	dir      string // for files of ours
	bin      string // of the agent
	pod      string // the program that runs in the pods
	listener *os.File
	kubelet  *net.TCPAddr
	pair     pair
	access   string // kubeconfig of the launcher
	steps    []step // that undo what was done, the last first
}

type step struct {
	what string
	do   func(context.Context) error
}

// newWorld reaches the cluster, and listens on the address that its API server has.
func newWorld(bin string) (w *world, err error) {
	w = &world{audit: os.Getenv("MUSTER_AUDIT_LOG")}
	if os.Getenv("KUBECONFIG") == "" || w.audit == "" {
		return w, errors.New("no cluster: make cluster-up, then eval \"$(go -C test/lab/cluster run . env)\"")
	}
	if w.bin, err = filepath.Abs(bin); err != nil {
		return w, err
	}
	if w.cfg, err = clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")); err != nil {
		return w, fmt.Errorf("read KUBECONFIG: %w", err)
	}
	w.cfg.UserAgent, w.cfg.QPS = "bench", -1
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return w, err
	}
	if w.client, err = client.New(w.cfg, client.Options{Scheme: scheme}); err != nil {
		return w, fmt.Errorf("reach the cluster: %w", err)
	}
	if w.dir, err = os.MkdirTemp("", "muster-thousand"); err != nil {
		return w, err
	}
	w.later("remove files", func(context.Context) error { return os.RemoveAll(w.dir) })
	at, err := url.Parse(w.cfg.Host)
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

// later notes how something is taken back.
func (w *world) later(what string, do func(context.Context) error) {
	w.steps = append(w.steps, step{what, do})
}

// undo takes back everything, whether or not the program's own context has ended.
func (w *world) undo() error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var errs []error
	for _, s := range slices.Backward(w.steps) {
		if err := s.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.what, err))
		}
	}
	return errors.Join(errs...)
}

// build makes the program of the pods.
func (w *world) build(ctx context.Context) error {
	root, err := figure.Root()
	if err != nil {
		return err
	}
	w.pod = filepath.Join(w.dir, "pod")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.pod, "./bench/thousand/pod")
	cmd.Dir, cmd.Env = filepath.Join(root, "test", "lab"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program of the pods: %w\n%s", err, out)
	}
	return nil
}

// admit gives the launcher an account with the rights of the README's Role, and a
// kubeconfig with its token.
func (w *world) admit(ctx context.Context, workers int) error {
	if err := kube.Apply(ctx, space, kube.Space(space, "muster.dev/bench")); err != nil {
		return err
	}
	w.later("remove namespace", func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, space, nil, "delete", "namespace", space, "--ignore-not-found", "--timeout=3m")
		return err
	})
	if _, err := kube.Kubectl(ctx, space, nil, "wait", "--for=create", "serviceaccount/default", "--timeout=60s"); err != nil {
		return err
	}
	if err := kube.Apply(ctx, space, kube.Access(account, podNames(workers))...); err != nil {
		return err
	}
	token, err := kube.Kubectl(ctx, space, nil, "create", "token", account, "--duration=2h")
	if err != nil {
		return err
	}
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: w.cfg.Host, CertificateAuthorityData: w.cfg.CAData}
	file.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c", Namespace: space}
	file.CurrentContext = "c"
	w.access = filepath.Join(w.dir, "launcher.kubeconfig")
	return clientcmd.WriteToFile(*file, w.access)
}

// write keeps something for another process.
func (w *world) write(name string, v any) (path string, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	path = filepath.Join(w.dir, name)
	return path, os.WriteFile(path, text, 0o600)
}

//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// world is the cluster, and what we have made in it.
type world struct {
	cfg       *rest.Config
	client    client.WithWatch
	audit     string // path of the API server's log
	ns        string
	dir       string               // for files of ours
	launchers map[string]container // by pod
	steps     []func(context.Context) error
}

func newWorld() (*world, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("read KUBECONFIG: %w", err)
	}
	cfg.UserAgent, cfg.QPS, cfg.Burst = "bench-launch", 1000, 1000
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	dir, err := os.MkdirTemp("", "muster-launch")
	w := &world{cfg: cfg, client: c, audit: os.Getenv("MUSTER_AUDIT_LOG"), dir: dir, ns: "launch-" + strings.ToLower(rand.Text()[:5])}
	w.later(func(context.Context) error { return os.RemoveAll(dir) })
	return w, err
}

// later notes how something is taken back.
func (w *world) later(do func(context.Context) error) { w.steps = append(w.steps, do) }

// undo takes everything back, the last first, whether or not the program's own context has ended.
func (w *world) undo() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var errs []error
	for _, do := range slices.Backward(w.steps) {
		errs = append(errs, do(ctx))
	}
	return errors.Join(errs...)
}

// prepare makes the namespace and the launchers, and puts into them what they need.
func (w *world) prepare(ctx context.Context) error {
	inpod, err := w.build(ctx)
	if err != nil {
		return err
	}
	kubectl, err := os.ReadFile(kube.Path())
	if err != nil {
		return fmt.Errorf("read kubectl: %w", err)
	}
	w.later(func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "namespace", w.ns, "--ignore-not-found", "--timeout=150s")
		return err
	})
	if err := kube.Apply(ctx, w.ns, kube.Space(w.ns, "muster.dev/bench")); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "wait", "--for=create", "serviceaccount/default", "--timeout=60s"); err != nil {
		return err
	}
	keys, err := sshKeys()
	if err != nil {
		return err
	}
	objects := append(rights(), keys)
	pods := []string{kubexecPod, slowPod, sshPod, musterPod, floorPod}
	for _, name := range pods {
		objects = append(objects, launcher(name))
	}
	if err := kube.Apply(ctx, w.ns, objects...); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s"); err != nil {
		return err
	}
	if w.launchers, err = containers(pods); err != nil {
		return err
	}
	for _, c := range w.launchers {
		if err := errors.Join(put(c.path("/bench/inpod"), inpod), put(c.path("/opt/kube/kubectl"), kubectl)); err != nil {
			return err
		}
	}
	return w.slowDNS(ctx)
}

// lookup is how long the slow DNS takes. mpirun looks up each name three times.
const lookup = time.Second / 2 / 3

// slowDNS has the launcher of that name ask a DNS in the floor's.
func (w *world) slowDNS(ctx context.Context) error {
	address, err := kube.Kubectl(ctx, w.ns, nil, "get", "pod", floorPod, "-o", "jsonpath={.status.podIP}")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	server := w.launchers[floorPod].enter(serving, "exec /bench/inpod dns -after "+lookup.String())
	if err := server.Start(); err != nil {
		stop()
		return fmt.Errorf("start DNS: %w", err)
	}
	w.later(func(context.Context) error {
		stop()
		_ = server.Wait() // the way in; what is inside ends with its pod
		return nil
	})
	path := w.launchers[slowPod].path("/etc/resolv.conf")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^nameserver .*`).ReplaceAll(text, []byte("nameserver "+address))
	return os.WriteFile(path, text, 0o644)
}

// build compiles inpod.
func (w *world) build(ctx context.Context) ([]byte, error) {
	root, err := figure.Root()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(w.dir, "inpod")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./bench/launch/inpod")
	cmd.Dir, cmd.Env = filepath.Join(root, "test", "lab"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build inpod: %w\n%s", err, out)
	}
	return os.ReadFile(path)
}

// put writes a program.
func put(path string, program []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, program, 0o755)
}

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
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/test/lab/examples/example"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	owner = "muster.dev/examples" // label of the examples' namespaces
	limit = 6 * time.Minute       // of a row
	shown = 4 * time.Minute       // maximum time until a line appears in a log
)

// world is one run of an example, in a namespace of its own.
type world struct {
	row    row
	ns     string
	dir    string // directory for the row's files
	readme example.Readme
}

// play runs a row, and removes everything that it created.
func (r row) play(ctx context.Context, _ string) (seen []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	after := context.WithoutCancel(ctx)
	w := &world{row: r, ns: "example-" + r.name + "-" + strings.ToLower(rand.Text()[:5])}
	if w.readme, err = example.Read(filepath.Join("examples", r.name)); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "example"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(w.dir)
	if err := kube.Open(ctx, w.ns, owner); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			said, _ := kube.Kubectl(after, w.ns, nil, "get", "lj,pods,events", "-o", "wide") // best effort: the list explains the error
			err = fmt.Errorf("%w\n%s", err, said)
		}
		_, gone := kube.Kubectl(after, w.ns, nil, "delete", "namespace", w.ns, "--wait=false")
		err = errors.Join(err, gone, w.deleteVolumes(after))
	}()
	said, err := w.follow(ctx)
	if err != nil {
		return nil, err
	}
	line := w.readme.Said(said)
	if line == "" {
		return nil, fmt.Errorf("the output does not match the README:\n%s", said)
	}
	for _, words := range r.logs {
		if !strings.Contains(said, words) {
			return nil, fmt.Errorf("the output does not contain %q:\n%s", words, said)
		}
		line += "; " + words
	}
	return []string{line}, nil
}

// follow runs the README's commands, and returns the output of the last one.
func (w *world) follow(ctx context.Context) (said string, err error) {
	if w.row.name == "pipeline" {
		return w.pipeline(ctx)
	}
	for _, line := range w.readme.Commands {
		if line == "kubectl apply -k examples/"+w.row.name {
			if err := w.apply(ctx); err != nil {
				return "", err
			}
			if w.row.during != nil {
				if err := w.row.during(ctx, w); err != nil {
					return "", err
				}
			}
			continue
		}
		if said, err = w.shell(ctx, line); err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
	}
	return said, nil
}

// shell runs a command of a README, with kubectl in the row's namespace.
func (w *world) shell(ctx context.Context, line string) (string, error) {
	line = strings.ReplaceAll(line, "-n restricted ", "")
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", `kubectl() { command "$KUBECTL" --namespace "$NAMESPACE" "$@"; }; `+line)
	cmd.Env = append(os.Environ(), "KUBECTL="+kube.Path(), "NAMESPACE="+w.ns)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // also kubectl, which may wait for a long time
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", errors.Join(err, ctx.Err()), out)
	}
	return string(out), nil
}

// apply creates the objects of the example, with stand-ins.
func (w *world) apply(ctx context.Context) error {
	objects, err := example.Build(filepath.Join("examples", w.row.name))
	if err != nil {
		return err
	}
	s := w.row.standIn
	if w.row.name == "plugin" {
		if s.files, err = plugin(ctx, w.dir, objects); err != nil {
			return err
		}
	}
	if err := s.apply(objects); err != nil {
		return err
	}
	var all []any
	for _, object := range objects {
		if object.GetNamespace() != "" {
			object.SetNamespace(w.ns)
		}
		switch object.GetKind() {
		case "Namespace":
			object.SetName(w.ns)
		case "PersistentVolumeClaim":
			volume, err := w.volume(object.GetName())
			if err != nil {
				return err
			}
			all = append(all, volume)
		}
		all = append(all, object)
	}
	return kube.Apply(ctx, w.ns, all...)
}

// volume returns a volume for a claim. All nodes have it, because they see this machine's files.
func (w *world) volume(claim string) (any, error) {
	path := filepath.Join(w.dir, claim)
	err := os.Mkdir(path, 0o700)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": w.ns, "labels": map[string]any{owner: w.ns}},
		"spec": map[string]any{
			"accessModes": []any{"ReadWriteMany"}, "capacity": map[string]any{"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
			"hostPath": map[string]any{"path": path}, "claimRef": map[string]any{"namespace": w.ns, "name": claim},
		},
	}}, err
}

func (w *world) deleteVolumes(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "persistentvolumes", "-l", owner+"="+w.ns, "--wait=false")
	return err
}

// log waits until the log of a pod contains words.
func (w *world) log(ctx context.Context, pod, words string) error {
	ctx, cancel := context.WithTimeout(ctx, shown)
	defer cancel()
	return await.Until(ctx, time.Second, pod+" to print "+words, func() (bool, error) {
		said, err := kube.Kubectl(ctx, w.ns, nil, "logs", pod)
		return strings.Contains(said, words), err
	})
}

// evict evicts a worker during training, through the API that kubectl drain uses.
func evict(ctx context.Context, w *world) error {
	if err := w.log(ctx, w.row.name+"-worker-0", "step 40: loss"); err != nil {
		return err
	}
	pod := w.row.name + "-worker-1"
	body := fmt.Appendf(nil, `{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}}`, pod, w.ns)
	_, err := kube.Kubectl(ctx, w.ns, body, "create", "-f", "-", "--raw", "/api/v1/namespaces/"+w.ns+"/pods/"+pod+"/eviction")
	return err
}

// scale adds a worker while two workers train.
func scale(ctx context.Context, w *world) error {
	if err := w.log(ctx, w.row.name+"-launcher", "2 ranks, from step"); err != nil {
		return err
	}
	_, err := kube.Kubectl(ctx, w.ns, nil, "scale", "launchjob/"+w.row.name, "--replicas=3")
	return err
}

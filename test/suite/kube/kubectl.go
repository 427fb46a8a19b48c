package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/await"
)

// Path returns the kubectl of $MUSTER_KUBECTL, or else the one in PATH.
func Path() string {
	if path := os.Getenv("MUSTER_KUBECTL"); path != "" {
		return path
	}
	return "kubectl"
}

// Cluster returns an error if $KUBECONFIG or one of the variables is not set, because then the environment names no
// test cluster.
func Cluster(variables ...string) error {
	for _, name := range append(variables, "KUBECONFIG") {
		if os.Getenv(name) == "" {
			return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/lab/cluster run . env)\"")
		}
	}
	return nil
}

// Kubectl runs kubectl in a namespace. Errors include its stderr.
func Kubectl(ctx context.Context, namespace string, stdin []byte, args ...string) (string, error) {
	return Program(ctx, stdin, Path(), append([]string{"--namespace", namespace}, args...)...)
}

// Program runs a program and returns its stdout. Errors include its stderr.
func Program(ctx context.Context, stdin []byte, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w: %s", strings.Join(args[:min(len(args), 5)], " "), errors.Join(err, ctx.Err()), strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Apply creates objects.
func Apply(ctx context.Context, namespace string, objects ...any) error {
	var text bytes.Buffer
	for _, object := range objects {
		if err := json.NewEncoder(&text).Encode(object); err != nil {
			return err
		}
	}
	_, err := Kubectl(ctx, namespace, text.Bytes(), "apply", "--validate=false", "-f", "-")
	return err
}

// Open creates a namespace with a label of its owner. A namespace refuses pods until it has a service account, so
// Open waits for that.
func Open(ctx context.Context, namespace, owner string) error {
	if err := Apply(ctx, namespace, Space(namespace, owner)); err != nil {
		return err
	}
	_, err := Kubectl(ctx, namespace, nil, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	return err
}

// Terminated waits until the first container of a pod has ended, and returns its exit code. It waits for 5 s at a
// time, because a watch may break off, even silently.
func Terminated(ctx context.Context, namespace, pod string) (code int, err error) {
	const state = "jsonpath={.status.containerStatuses[0].state.terminated"
	err = await.Until(ctx, 500*time.Millisecond, pod+" to end", func() (bool, error) {
		if _, err := Kubectl(ctx, namespace, nil, "wait", "--for="+state+"}", "pod/"+pod, "--timeout=5s"); err != nil {
			return false, err
		}
		text, err := Kubectl(ctx, namespace, nil, "get", "pod", pod, "-o", state+".exitCode}")
		if err != nil || text == "" {
			return false, err
		}
		_, err = fmt.Sscan(text, &code)
		return true, err
	})
	return code, err
}

// Served waits until new custom resources are served. which has arguments of kubectl wait: crd/NAME, or -f FILE.
func Served(ctx context.Context, which ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return await.Until(ctx, 100*time.Millisecond, strings.Join(which, " "), func() (bool, error) {
		_, err := Kubectl(ctx, corev1.NamespaceDefault, nil, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, which...)...)
		// kubectl fails at once for a CRD so new that its conditions are null.
		return err == nil || !strings.Contains(err.Error(), "conditions accessor error"), err
	})
}

// Controller installs the controller of deploy, the path of images/deploy, with the images of images/build.sh, and
// waits until it runs. A different mark restarts it. It stays installed, as the cluster does.
func Controller(ctx context.Context, deploy, mark string) error {
	dir, err := os.MkdirTemp("", "muster-deploy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	deploy, err = filepath.Abs(deploy)
	if err != nil {
		return err
	}
	back, err := filepath.Rel(dir, deploy) // kustomize requires relative paths
	if err != nil {
		return err
	}
	overlay := fmt.Sprintf(`resources: [%q]
images:
  - {name: ghcr.io/musterhq/muster-controller, newName: localhost/muster-controller, newTag: dev}
  - {name: ghcr.io/musterhq/muster-agent, newName: localhost/muster-agent, newTag: dev}
patches:
  - target: {kind: Deployment}
    patch: |-
      - {op: replace, path: /spec/template/spec/containers/0/env/1/value, value: localhost/muster-agent:dev}
      - {op: add, path: /spec/template/metadata/annotations, value: {muster.dev/mark: %q}}
`, back, mark)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		return err
	}
	const namespace = "muster-system"
	if _, err := Kubectl(ctx, namespace, nil, "apply", "-k", dir); err != nil {
		return err
	}
	if _, err = Kubectl(ctx, namespace, nil, "rollout", "status", "deployment/muster-controller", "--timeout=100s"); err != nil {
		out, _ := Kubectl(ctx, namespace, nil, "describe", "pods")
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// GPUs sets n nvidia.com/gpu in a node's status, as a device plugin would. The scheduler and the kubelet count pods
// against them. 0 removes them.
func GPUs(ctx context.Context, node string, n int) error {
	amount := fmt.Sprintf(`"%d"`, n)
	if n == 0 {
		amount = "null"
	}
	patch := fmt.Sprintf(`{"status":{"capacity":{"nvidia.com/gpu":%s},"allocatable":{"nvidia.com/gpu":%s}}}`, amount, amount)
	_, err := Kubectl(ctx, corev1.NamespaceDefault, nil, "patch", "node", node, "--subresource=status", "--type=merge", "--patch", patch)
	return err
}

//go:build linux

package kwok

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// Played is the label and the taint of nodes that kwok simulates.
const Played = "muster.dev/played"

// Node returns a node to simulate.
func Node(i int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("played-%d", i), Labels: map[string]string{Played: "true"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: Played, Value: "true", Effect: corev1.TaintEffectNoSchedule}}}}
}

// Play creates nodes, and runs kwok to simulate them. stop stops kwok and deletes
// the nodes. stop is never nil, even if there is an error. kwok's output goes to log.
func Play(ctx context.Context, c client.Client, nodes []*corev1.Node, log string) (stop func(context.Context) error, err error) {
	var made []*corev1.Node
	var kwok *program.Process
	stop = func(ctx context.Context) error {
		var errs []error
		if kwok != nil {
			errs = append(errs, kwok.End())
		}
		for _, node := range made {
			errs = append(errs, client.IgnoreNotFound(c.Delete(ctx, node)))
		}
		return errors.Join(errs...)
	}
	if _, err := Build(ctx); err != nil {
		return stop, err
	}
	for _, node := range nodes {
		if err := c.Create(ctx, node); err != nil {
			return stop, fmt.Errorf("create node: %w", err)
		}
		made = append(made, node)
	}
	kwok, err = Run(ctx, os.Getenv("KUBECONFIG"), log, "--manage-all-nodes=false", "--manage-nodes-with-label-selector="+Played+"=true")
	if err != nil {
		return stop, err
	}
	return stop, Ready(ctx, c, nodes...)
}

// Build builds kwok if it does not exist, and returns its directory.
func Build(ctx context.Context) (dir string, err error) {
	module, err := module()
	if err != nil {
		return "", err
	}
	return module.Build(ctx)
}

// Run runs kwok on the nodes that its flags select. Its output goes to log.
func Run(ctx context.Context, kubeconfig, log string, flags ...string) (*program.Process, error) {
	bin, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	return program.Start(log, nil, append([]string{filepath.Join(bin, "kwok"), "--kubeconfig=" + kubeconfig,
		// Like kubelets. Without leases the control plane considers the nodes dead after
		// a minute, and creates events for each pod.
		"--node-lease-duration-seconds=40"}, flags...)...)
}

// Version returns the version of kwok.
func Version() (string, error) {
	m, err := module()
	if err != nil {
		return "", err
	}
	return m.Version()
}

func module() (program.Module, error) {
	root, err := figure.Root()
	return program.Module{Dir: filepath.Join(root, "test/lab/kwok/pinned"), Path: "sigs.k8s.io/kwok", Name: "kwok", Commands: []string{"cmd/kwok"}}, err
}

// Ready waits until nodes are Ready.
func Ready(ctx context.Context, c client.Client, nodes ...*corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return await.Until(ctx, 100*time.Millisecond, "simulated nodes", func() (bool, error) {
		var list corev1.NodeList
		if err := c.List(ctx, &list); err != nil {
			return false, err
		}
		ready := map[string]bool{}
		for _, node := range list.Items {
			ready[node.Name] = slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			})
		}
		return !slices.ContainsFunc(nodes, func(node *corev1.Node) bool { return !ready[node.Name] }), nil
	})
}

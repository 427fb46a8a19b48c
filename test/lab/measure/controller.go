//go:build linux

package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

const (
	system     = "muster-system"
	deployment = "deployment/muster-controller"
)

// Install brings the CRD and the controller's account and rights; the Deployment has
// no pod. What was not there before goes in the end; a Deployment that was is then again
// what it was.
func (w *World) Install(ctx context.Context) error {
	began := time.Now()
	before, err := kube.Kubectl(ctx, system, nil, "get", deployment, "--ignore-not-found", "-o", "jsonpath={.spec}")
	if err != nil {
		return err
	}
	back, err := filepath.Rel(w.Dir, filepath.Join(w.Root, "images/deploy")) // kustomize wants relative paths
	if err != nil {
		return err
	}
	overlay := fmt.Sprintf("resources: [%q]\nreplicas: [{name: muster-controller, count: 0}]\n", back)
	if err := os.WriteFile(filepath.Join(w.Dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		return err
	}
	if before == "" {
		w.Later("uninstall", func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, system, nil, "delete", "-k", w.Dir, "--ignore-not-found")
			return err
		})
	} else {
		w.Later("put back "+deployment, func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, system, nil, "patch", deployment, "--type=json", "-p", fmt.Sprintf(`[{"op":"replace","path":"/spec","value":%s}]`, before))
			return err
		})
		if _, err := kube.Kubectl(ctx, system, nil, "scale", deployment, "--replicas=0"); err != nil {
			return err
		}
	}
	if _, err := kube.Kubectl(ctx, system, nil, "apply", "-k", w.Dir); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, system, nil, "wait", "--for=delete", "pods", "-l", "app.kubernetes.io/name=muster-controller", "--timeout=60s"); err != nil {
		return err
	}
	if err := kube.Served(ctx, "crd/launchjobs.muster.dev"); err != nil {
		return err
	}
	if _, err := audit.Since(w.Audit, began); err != nil {
		return fmt.Errorf("%w; test/lab/cluster up starts an API server that writes it", err)
	}
	return nil
}

// Start runs a program, its words going to a file beside the raw numbers. It is ended with
// the rest.
func (w *World) Start(log string, env []string, argv ...string) (*program.Process, error) {
	p, err := program.Start(log, env, argv...)
	if err == nil {
		w.Later("end "+filepath.Base(argv[0]), func(context.Context) error { return p.End() })
	}
	return p, err
}

// Controller starts bin/controller with a token of its own account.
func (w *World) Controller(ctx context.Context, bin, log string) (*program.Process, error) {
	path, err := w.Access(ctx, system, "muster-controller", "1h")
	if err != nil {
		return nil, err
	}
	w.Say("the controller starts")
	return w.Start(log, []string{"KUBECONFIG=" + path}, filepath.Join(bin, "controller"), "--metrics-addr=0", "--probe-addr=0")
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// sdk runs test/lab/serve/testdata/sdk.py in a pod, as a notebook of theirs would: with kubeflow-training
// from PyPI, and an account that may touch Kubeflow's kinds and nothing of ours.
func sdk(ctx context.Context, w *world) error {
	venv, err := program.Venv(ctx, "kubeflow")
	if err != nil {
		return err
	}
	torch, err := program.Venv(ctx, "torch")
	if err != nil {
		return err
	}
	files, err := kube.Files("files", map[string]string{"sdk.py": "test/lab/serve/testdata/sdk.py"})
	if err != nil {
		return err
	}
	const account = "notebook"
	objects := append(kube.Bound(account,
		rbacv1.PolicyRule{APIGroups: []string{"kubeflow.org"}, Resources: []string{"pytorchjobs", "tfjobs", "mpijobs"}, Verbs: []string{"create", "get", "list", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}}),
		files, kube.Python("notebook", account, venv, files.Name, "/files/sdk.py", torch, "localhost/muster-frameworks:dev", "localhost/muster-openmpi:dev"))
	if err := kube.Apply(ctx, w.ns, objects...); err != nil {
		return err
	}
	err = w.kubectl(ctx, "wait", "--for=jsonpath={.status.containerStatuses[0].state.terminated}", "pod/notebook", "--timeout=280s")
	log, lerr := kube.Kubectl(context.WithoutCancel(ctx), w.ns, nil, "logs", "notebook")
	if err := errors.Join(err, lerr); err != nil {
		return fmt.Errorf("%w\n%s", err, log)
	}
	w.raw["log"] = strings.Split(log, "\n")
	if !strings.HasSuffix(log, "sdk ok\n") {
		return fmt.Errorf("the SDK met something else than under Kubeflow's operator:\n%s", log)
	}
	w.see("create_job, wait_for_job_conditions, get_job_pod_names, get_job_logs, delete_job: %s", strings.ReplaceAll(strings.TrimSpace(log), "\n", "; "))
	return nil
}

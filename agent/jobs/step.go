package jobs

import (
	"context"
	"os"
)

// workflowLabel is on every pod of Argo Workflows, which both versions of Kubeflow Pipelines use.
const workflowLabel = "workflows.argoproj.io/workflow"

// OwnPod returns the name of the pod in which this program runs. Host names are cut at 63
// characters, and pods of Pipelines may have longer names, which Pipelines puts into these
// variables.
func OwnPod() string {
	for _, name := range []string{"KFP_POD_NAME", "ARGO_POD_NAME"} {
		if pod := os.Getenv(name); pod != "" {
			return pod
		}
	}
	pod, _ := os.Hostname()
	return pod
}

// Workflow returns the workflow of a pod, or "".
func (a *API) Workflow(ctx context.Context, pod string) (string, error) {
	p, err := a.pod(ctx, pod)
	if err != nil {
		return "", a.explain(ctx, "get pod "+pod, err)
	}
	return p.Labels[workflowLabel], nil
}

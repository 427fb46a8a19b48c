package jobs

import (
	"context"
	"os"
)

// workflowLabel is on every pod of Argo Workflows, which both versions of Kubeflow
// Pipelines run on.
const workflowLabel = "workflows.argoproj.io/workflow"

// OwnPod is the name of the pod that this program runs in. A host name is cut at 63
// characters, and pods of Pipelines may have more: it tells some of them their name.
func OwnPod() string {
	for _, name := range []string{"KFP_POD_NAME", "ARGO_POD_NAME"} {
		if pod := os.Getenv(name); pod != "" {
			return pod
		}
	}
	pod, _ := os.Hostname()
	return pod
}

// Workflow is the workflow that a pod belongs to; "" for none.
func (a *API) Workflow(ctx context.Context, pod string) (string, error) {
	p, err := a.pod(ctx, pod)
	if err != nil {
		return "", a.explain(ctx, "get pod "+pod, err)
	}
	return p.Labels[workflowLabel], nil
}

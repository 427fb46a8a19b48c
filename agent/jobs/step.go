package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		return "", a.explain("get pod "+pod, err)
	}
	return p.Labels[workflowLabel], nil
}

// Discard deletes the job with that uid, and its pods with it. One that is gone, or
// another of its name, is left alone.
func (a *API) Discard(ctx context.Context, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	body, err := json.Marshal(&metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		return fmt.Errorf("encode options: %w", err)
	}
	r := a.client.Delete().AbsPath(jobsPath(a.Namespace), name).SetHeader("Content-Type", "application/json").Body(body)
	err = do[struct{}](ctx, r, nil)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return a.explain("delete job "+name, err)
}

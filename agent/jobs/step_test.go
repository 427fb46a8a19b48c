package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/fakekube"
)

func TestWorkflow(t *testing.T) {
	server := fakekube.New(t)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c, namespace: lab}}]\ncurrent-context: c\n", server.URL()), 0o600))
	api, err := Open(Where{Kubeconfig: config})
	require.NoError(t, err)
	for name, labels := range map[string]map[string]string{"step": {"workflows.argoproj.io/workflow": "pipeline-7"}, "plain": nil} {
		pod := &corev1.Pod{}
		pod.Name, pod.Namespace, pod.Labels = name, "lab", labels
		server.Set(pod)
	}
	workflow, err := api.Workflow(t.Context(), "step")
	require.NoError(t, err)
	require.Equal(t, "pipeline-7", workflow)
	workflow, err = api.Workflow(t.Context(), "plain")
	require.NoError(t, err)
	require.Empty(t, workflow)
	_, err = api.Workflow(t.Context(), "gone")
	require.ErrorContains(t, err, "get pod gone: ")
}

func TestOwnPod(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	t.Setenv("KFP_POD_NAME", "")
	t.Setenv("ARGO_POD_NAME", "")
	require.Equal(t, host, OwnPod())
	t.Setenv("ARGO_POD_NAME", "by-argo")
	require.Equal(t, "by-argo", OwnPod())
	t.Setenv("KFP_POD_NAME", "by-pipelines")
	require.Equal(t, "by-pipelines", OwnPod())
}

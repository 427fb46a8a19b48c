//go:build e2e

package kubeflow

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// TestTheServerTakesThem checks that every LaunchJob from testdata passes a strict dry run of
// kubectl apply against the CRD of this tree. No label or annotation of its templates may be lost.
func TestTheServerTakesThem(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := kube.Kubectl(ctx, "default", nil, "apply", "--server-side", "--force-conflicts", "-f", "../../images/chart/files/crd/crd.yaml")
	require.NoError(t, err)
	require.NoError(t, kube.Served(ctx, "crd/launchjobs.muster.dev"))
	refused := figure.Series{Unit: "jobs", Reduce: "sum"}
	for _, c := range everything(t) {
		file, r := c.file, c.Result
		r.Job.Namespace = "default"
		raw, err := YAML(r.Job)
		require.NoError(t, err)
		out, err := kube.Kubectl(ctx, "default", raw, "apply", "--dry-run=server", "--validate=strict", "-o", "yaml", "-f", "-")
		if err != nil {
			refused.Samples = append(refused.Samples, 1)
			t.Errorf("%s: %v", file, err)
			continue
		}
		refused.Samples = append(refused.Samples, 0)
		back := &v1alpha1.LaunchJob{}
		require.NoError(t, yaml.Unmarshal([]byte(out), back))
		for i, role := range r.Job.Spec.Roles {
			require.Equal(t, role.Template.Labels, back.Spec.Roles[i].Template.Labels, file)
			require.Equal(t, role.Template.Annotations, back.Spec.Roles[i].Template.Annotations, file)
		}
	}
	require.GreaterOrEqual(t, len(refused.Samples), 30)
	t.Logf("%d LaunchJobs", len(refused.Samples))
	if os.Getenv("MUSTER_OUT") == "" {
		return
	}
	const name = "LaunchJobs of these manifests that a server-side dry run refuses"
	dir, err := figure.Dir()
	require.NoError(t, err)
	_, err = figure.Keep(dir, "make e2e-convert", "convert-dry-run", map[string]figure.Series{"refused": refused}, figure.Row{Name: name, Op: "==", Bar: 0, Log: "refused"})
	require.NoError(t, err)
}

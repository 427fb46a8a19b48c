package serve

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon returns the time at which each test starts.
func noon() metav1.Time { return metav1.NewTime(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)) }

// anObject returns an object of a kind with these numbers of replicas.
func anObject(t *testing.T, k kind, replicas map[string]int) *unstructured.Unstructured {
	t.Helper()
	specs := map[string]any{}
	for name, n := range replicas {
		specs[name] = map[string]any{"replicas": int64(n), "restartPolicy": "OnFailure", "template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": container(k), "image": "trainer:1", "command": []any{"sh", "-c", "train"}}},
		}}}
	}
	o := k.empty()
	o.SetNamespace("hpc")
	o.SetName("pi")
	o.SetUID("11111111-2222-3333-4444-555555555555")
	o.SetGeneration(1)
	o.SetLabels(map[string]string{"muster.dev/serve": "true"})
	o.SetCreationTimestamp(metav1.NewTime(noon().Add(-time.Hour)))
	o.Object["spec"] = map[string]any{k.specs: specs, "runPolicy": map[string]any{}}
	return o
}

// container returns the name of the container that the kind's operator watches.
func container(k kind) string {
	return map[string]string{"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "PaddleJob": "paddle", "JAXJob": "jax", "MXJob": "mxnet", "MPIJob": "mpi"}[k.name]
}

func aKind(t *testing.T, name, version string) kind {
	t.Helper()
	for _, k := range kinds() {
		if k.name == name && k.version == version {
			return k
		}
	}
	t.Fatalf("no kind %s %s", name, version)
	return kind{}
}

// role returns the status of one role of a LaunchJob, with its numbers of ready and ended pods.
func role(name string, ready, succeeded, failed int32) v1alpha1.RoleStatus {
	return v1alpha1.RoleStatus{Name: name, Desired: ready + succeeded + failed, Active: ready, Ready: ready, Succeeded: succeeded, Failed: failed}
}

func text(t *testing.T, object any) string {
	t.Helper()
	out, err := yaml.Marshal(object)
	require.NoError(t, err)
	return string(out)
}

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon().Add(time.Duration(seconds) * time.Second))
}

// line returns a status on one line, without its times.
func line(s status) string {
	text := ""
	for _, c := range s.Conditions {
		text += fmt.Sprintf("%s=%s(%s) ", c.Type, c.Status, c.Reason)
	}
	return text
}

package doctor

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/fakekube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustParse(text string) resource.Quantity { return resource.MustParse(text) }

// at matches requests whose path ends so.
func at(suffixes ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(r.URL.Path, s) || strings.Contains(r.URL.Path, s+"/muster-controller") {
				return true
			}
		}
		return false
	}
}

func (w *world) forbid(suffixes ...string) {
	w.server.Fail(fakekube.Failure{Code: 403, Message: "no right", Match: at(suffixes...)})
}

// deploy puts the controller's Deployment with a number of available pods.
func (w *world) deploy(available int) {
	w.about.Put("/apis/coordination.k8s.io/v1/leases", nil)
	w.about.Put(leasePath(home), nil)
	w.about.Put("/apis/apps/v1/namespaces/"+home+"/deployments/"+leaseName, map[string]any{"status": map[string]any{"availableReplicas": available}})
}

func (w *world) quota(q corev1.ResourceQuota) {
	w.about.Put("/api/v1/namespaces/lab/resourcequotas", map[string]any{"items": []any{q}})
}

func (w *world) restricted() {
	w.about.Put("/api/v1/namespaces/lab", map[string]any{"metadata": map[string]any{"name": "lab", "labels": map[string]any{"pod-security.kubernetes.io/enforce": "restricted"}}})
}

func (w *world) noPods() {
	for _, name := range []string{"pi-launcher", "pi-worker-0", "pi-worker-1"} {
		w.server.Delete("lab", name)
	}
}

func withGang(backend string) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.Gang = &v1alpha1.Gang{Backend: backend} }
}

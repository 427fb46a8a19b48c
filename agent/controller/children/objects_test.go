package children

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func aLaunched(change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
	job := &v1alpha1.LaunchJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi", UID: "u-1"},
		Spec:       v1alpha1.LaunchJobSpec{Launcher: &v1alpha1.Launcher{}},
	}
	for _, f := range change {
		f(job)
	}
	return job
}

// TestRoleWithoutPods checks that no rule without names allows more than to list and watch, also when there are no
// pods to name.
func TestRoleWithoutPods(t *testing.T) {
	for _, discovery := range []string{"", ByNames} {
		for _, own := range [][]string{nil, {"pi-worker-1", "pi-worker-0", "pi-worker-1"}} {
			for _, launcher := range []bool{false, true} {
				job := aLaunched(func(j *v1alpha1.LaunchJob) { j.Spec.Discovery = discovery })
				for _, rule := range Role(job, own, launcher).Rules {
					if len(rule.ResourceNames) == 0 {
						require.Subset(t, []string{"list", "watch"}, rule.Verbs)
						require.Empty(t, discovery)
						continue
					}
					if rule.Resources[0] == "pods/exec" {
						require.Equal(t, []string{"pi-worker-0", "pi-worker-1"}, rule.ResourceNames)
					}
				}
			}
		}
	}
	require.Empty(t, NoRights(aLaunched()).Rules)
}

// TestAccountOfTheTemplate checks that an account in the template is used in place of a new one.
func TestAccountOfTheTemplate(t *testing.T) {
	given := aLaunched(func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Template.Spec.DeprecatedServiceAccount = "mine" })
	require.Len(t, First(given, nil), 1)
	require.Equal(t, "mine", Binding(given).Subjects[0].Name)
	require.Len(t, First(aLaunched(), nil), 2)
	require.Equal(t, "pi-launcher", Binding(aLaunched()).Subjects[0].Name)
}

// TestServices checks that a job in the manner of Kubeflow has a Service for each pod, and others have one.
func TestServices(t *testing.T) {
	pods := []string{"pi-worker-0", "pi-worker-1"}
	members := func(j *v1alpha1.LaunchJob) { j.Spec.Launcher = nil }
	require.Len(t, First(aLaunched(members), pods), 1)
	require.Len(t, First(aLaunched(members, func(j *v1alpha1.LaunchJob) { j.Spec.Compat = "pytorch" }), pods), 3)
}

// TestToken checks that each token is new, and that a container says whose token it has.
func TestToken(t *testing.T) {
	one, two := Secret(aLaunched(), ""), Secret(aLaunched(), "pi-token-a")
	require.True(t, strings.HasPrefix(one.GenerateName, "pi-token-"))
	require.Empty(t, two.GenerateName)
	require.NotEqual(t, one.StringData, two.StringData)
	require.GreaterOrEqual(t, len(one.StringData["token"]), 32)
	own := &corev1.Container{}
	require.Empty(t, TokenOf(own))
	own.Env = append(own.Env, TokenEnv("pi-token-a"))
	require.Equal(t, "pi-token-a", TokenOf(own))
}

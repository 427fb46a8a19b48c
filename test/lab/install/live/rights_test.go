//go:build e2e

package live

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestOneNamespace: a controller for a has no right in b and none of the cluster's,
// installed by the chart and by images/deploy-namespaced. A job in b stays as it was.
func TestOneNamespace(t *testing.T) {
	const namespaced = "../../../../images/deploy-namespaced/kustomization.yaml"
	text, err := os.ReadFile(namespaced)
	require.NoError(t, err)
	var beyond []float64
	t.Run("helm", func(t *testing.T) {
		require.NoError(t, clean())
		a, b := newSpace(t, "a"), newSpace(t, "b")
		w := chart(t, system, "--set=namespaces={"+a.name+"}")
		w.install(t)
		beyond = append(beyond, confined(a, b)...)
		w.uninstall(t)
		require.Empty(t, a.kubectl("get", "roles,rolebindings", "-l", component, "-o", "name"))
	})
	t.Run("kustomize", func(t *testing.T) {
		require.NoError(t, clean())
		a, b := newSpace(t, "a"), newSpace(t, "b")
		require.Equal(t, 3, strings.Count(string(text), ": jobs}"), "the name's three places")
		images := "images:\n  - {name: ghcr.io/musterhq/muster-controller, newName: " + manuals + "/muster-controller}\n  - {name: ghcr.io/musterhq/muster-agent, newName: " + manuals + "/muster-agent}\n"
		dir := overlay(t, strings.ReplaceAll(string(text), ": jobs}", ": "+a.name+"}")+images)
		_, err := kubectl("apply", "-k", dir)
		require.NoError(t, err)
		rolledOut(t, system)
		beyond = append(beyond, confined(a, b)...)
		_, err = kubectl("delete", "-k", dir, "-l", component)
		require.NoError(t, err)
		require.Empty(t, a.kubectl("get", "roles,rolebindings", "-l", component, "-o", "name"))
	})
	record(t, figure.Row{Name: "a controller for one namespace: what it may do in another, or in the whole cluster", Op: "==", Bar: 0},
		figure.Series{Unit: "rights", Samples: beyond, Reduce: "sum"})
}

// confined asks what the account may do in a and in b, and runs a job in each. It
// gives a 1 for each right that the account has outside of a.
func confined(a, b space) (beyond []float64) {
	t := a.t
	shows(a, system)
	const account = "system:serviceaccount:" + system + ":muster-controller"
	may := func(s space, args ...string) bool {
		out, _ := s.try(nil, append([]string{"auth", "can-i", "--as=" + account}, args...)...) // a no is an exit code, too
		require.Contains(t, []string{"yes", "no"}, strings.TrimSpace(out))
		return strings.TrimSpace(out) == "yes"
	}
	b.launch("untouched", "mpirun", "/opt/muster-test/hello")
	for _, right := range [][]string{
		{"list", "launchjobs.muster.dev"}, {"update", "launchjobs.muster.dev", "--subresource=status"}, {"create", "pods"}, {"list", "pods"}, {"watch", "pods"}, {"delete", "pods"},
		{"create", "pods", "--subresource=exec"}, {"create", "services"}, {"create", "serviceaccounts"}, {"create", "roles.rbac.authorization.k8s.io"}, {"create", "rolebindings.rbac.authorization.k8s.io"}, {"create", "secrets"},
	} {
		require.True(t, may(a, right...), "%v in its namespace", right)
		for _, elsewhere := range [][]string{right, append([]string{"--all-namespaces"}, right...)} {
			beyond = append(beyond, 0)
			if may(b, elsewhere...) {
				beyond[len(beyond)-1] = 1
				t.Errorf("it may %v", elsewhere)
			}
		}
	}
	for _, never := range [][]string{{"get", "secrets"}, {"list", "secrets"}, {"patch", "pods"}, {"update", "launchjobs.muster.dev"}, {"escalate", "roles.rbac.authorization.k8s.io"}, {"bind", "roles.rbac.authorization.k8s.io"}, {"impersonate", "serviceaccounts"}} {
		require.False(t, may(a, never...), "%v in its namespace", never)
	}
	for _, kind := range []string{"nodes", "namespaces", "customresourcedefinitions.apiextensions.k8s.io", "clusterroles.rbac.authorization.k8s.io"} {
		require.False(t, may(b, "list", kind, "--all-namespaces"), "%s", kind)
	}
	var bindings rbacv1.ClusterRoleBindingList
	require.NoError(t, json.Unmarshal([]byte(b.kubectl("get", "clusterrolebindings", "-o", "json")), &bindings))
	for _, binding := range bindings.Items {
		for _, subject := range binding.Subjects {
			require.NotEqual(t, system, subject.Namespace, "%s", binding.Name)
		}
	}
	a.launch("served", "mpirun", "/opt/muster-test/hello")
	a.succeeds("served")
	time.Sleep(3 * time.Second) // for what must not happen there is nothing to wait for
	var job struct{ Status map[string]any }
	require.NoError(t, json.Unmarshal([]byte(b.kubectl("get", "launchjob", "untouched", "-o", "json")), &job))
	require.Empty(t, job.Status, "the job of another namespace has a status")
	require.Empty(t, b.pods("muster.dev/job"))
	require.Empty(t, b.kubectl("get", "events,services,roles", "-o", "name"), fmt.Sprintf("what there is in %s", b.name))
	return beyond
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/agent/names"
)

// lacking takes one verb away from the rule for a resource.
func lacking(resource, verb string) func(*rbacv1.Role) {
	return func(role *rbacv1.Role) {
		for i, rule := range role.Rules {
			if slices.Contains(rule.Resources, resource) {
				role.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
			}
		}
	}
}

// TestRightsDropped: each right taken away in turn; the launcher says which one
// is missing, and the rule that gives it. Whole rules are among TestExplainLinks.
func TestRightsDropped(t *testing.T) {
	t.Parallel()
	const rule = `^hint: add this rule to the Role .* namespace NS: `
	explain(t, newSpace(t), []explainRow{
		{
			name: "nolistverb", code: names.ExitForbidden, role: lacking("pods", "list"), within: 75 * time.Second,
			says: []string{`^agent: .*list pods.* forbidden: User .* cannot list resource "pods"`, rule + `.*"pods".*\["list", "watch"\]`},
		},
		{
			// What a launcher lists it can begin with; for the worker that comes
			// later it needs the watch.
			name: "nowatchverb", workers: 2, created: 1, code: names.ExitForbidden, role: lacking("pods", "watch"), within: 75 * time.Second,
			says: []string{`^agent: 1/2 ready, .*Forbidden: the launcher may not watch pods`,
				`^agent: (wait for workers: )?watch pods: .* is forbidden: User .* cannot watch resource "pods"`, rule + `.*"pods".*\["list", "watch"\]`},
		},
		{
			name: "oneworker", workers: 2, code: names.ExitForbidden, within: 75 * time.Second,
			role: func(role *rbacv1.Role) { role.Rules[1].ResourceNames = []string{"x-oneworker-worker-1"} },
			says: []string{`^agent: 1/2 ready, .*POD Forbidden: no right to exec into the pod`,
				`^agent: wait for workers: POD: the launcher may not exec into it: User .* cannot (get|create) resource "pods/exec"`,
				rule + `.*pods/exec.*\["get", "create"\], resourceNames: \[\.\.\.\]}, with the names of all workers`},
		},
		{
			// SPDY asks for create alone.
			name: "noexecget", role: lacking("pods/exec", "get"),
			says: []string{`^agent: 1/1 ready`},
		},
		{
			// Then it is a WebSocket, of which API servers before 1.35 ask for get alone,
			// later ones for both: the row says which of the two this one is.
			name: "noexeccreate", code: execWithoutCreate(t), role: lacking("pods/exec", "create"),
			says: []string{`^agent: (1/1 ready|.*cannot create resource "pods/exec")`},
		},
	})
}

// execWithoutCreate is the exit code of a launcher that has get of pods/exec only.
func execWithoutCreate(t *testing.T) int {
	t.Helper()
	var version struct {
		ServerVersion struct {
			Minor string `json:"minor"`
		} `json:"serverVersion"`
	}
	text, err := kubectlCall{namespace: "default"}.run("version", "-o", "json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(text), &version))
	minor, err := strconv.Atoi(strings.TrimRight(version.ServerVersion.Minor, "+"))
	require.NoError(t, err)
	if minor < 35 {
		return 0
	}
	return names.ExitForbidden
}

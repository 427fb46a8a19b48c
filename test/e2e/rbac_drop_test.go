//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

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
			name: "nowatchverb", code: names.ExitForbidden, role: lacking("pods", "watch"), within: 75 * time.Second,
			says: []string{`^agent: .*watch pods.* forbidden: User .* cannot watch resource "pods"`, rule + `.*"pods".*\["list", "watch"\]`},
		},
		{
			name: "oneworker", workers: 2, code: names.ExitForbidden, within: 75 * time.Second,
			role: func(role *rbacv1.Role) { role.Rules[1].ResourceNames = []string{"x-oneworker-worker-1"} },
			says: []string{`^agent: wait for workers: POD: the launcher may not exec into it: User .* cannot (get|create) resource "pods/exec"`,
				rule + `.*pods/exec.*verbs: \["get", "create"\].*resourceNames: \["POD"\]`},
		},
		{
			// API servers before 1.35 ask for get of a WebSocket and for create of
			// SPDY, so either verb alone is enough there; later ones want both.
			name: "execcreate", code: 0, role: lacking("pods/exec", "get"), says: []string{`^agent: 1/1 ready`},
		},
		{
			name: "execget", code: 0, role: lacking("pods/exec", "create"), says: []string{`^agent: 1/1 ready`},
		},
	})
}

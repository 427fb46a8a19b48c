//go:build e2e

package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/exec/names"
)

// bearer sends requests to the API server with only a token.
type bearer struct {
	t      *testing.T
	server string
	token  string
	http   *http.Client
}

// asLauncher returns a bearer with the token of a running launcher.
func (s *space) asLauncher(pod string) bearer {
	s.t.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json")), &config))
	require.Len(s.t, config.Clusters, 1)
	ca, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster.CA)
	require.NoError(s.t, err)
	roots := x509.NewCertPool()
	require.True(s.t, roots.AppendCertsFromPEM(ca))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	s.t.Cleanup(transport.CloseIdleConnections)
	token := s.exec(30*time.Second, pod, "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
	require.Zero(s.t, token.code)
	return bearer{t: s.t, server: config.Clusters[0].Cluster.Server, token: strings.TrimSpace(token.stdout),
		http: &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// do sends one request and returns the status and body of the answer.
func (b bearer) do(method, path string, body any) (int, []byte) {
	b.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(b.t, err)
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server+path, bytes.NewReader(text))
	require.NoError(b.t, err)
	req.Header.Set("Authorization", "Bearer "+b.token)
	req.Header.Set("Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == http.MethodPatch])
	answer, err := b.http.Do(req)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer.StatusCode, text
}

// rules returns the rights of the token in a namespace as reported by the API server, without the rights that every
// user has.
func (b bearer) rules(namespace string) []string {
	b.t.Helper()
	review := authv1.SelfSubjectRulesReview{Spec: authv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectRulesReview"
	code, text := b.do(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)
	require.Equal(b.t, http.StatusCreated, code, string(text))
	require.NoError(b.t, json.Unmarshal(text, &review))
	require.False(b.t, review.Status.Incomplete)
	var rules []string
	for _, rule := range review.Status.ResourceRules {
		switch fmt.Sprint(rule.APIGroups) {
		case "[authorization.k8s.io]", "[authentication.k8s.io]":
			continue // every user may ask for their own identity and rights
		case "[certificates.k8s.io]":
			// From 1.37 on, every account may read the cluster's certificate authorities.
			if slices.Equal(rule.Resources, []string{"clustertrustbundles"}) && slices.Equal(rule.Verbs, []string{"get", "list", "watch"}) {
				continue
			}
		}
		rules = append(rules, fmt.Sprintf("%v %v %v %v", rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames))
	}
	slices.Sort(rules)
	return rules
}

// TestRights checks that the launcher's token has exactly the rights that its job needs: to list and watch pods,
// and to start the agent in the job's own workers.
func TestRights(t *testing.T) {
	t.Parallel()
	s, other := newSpace(t), newSpace(t)
	j := job{name: "rights", image: "openmpi", workers: 2, slots: 1, command: untilTold}
	stranger := job{name: "stranger", image: "openmpi", workers: 1, slots: 1}
	secret := corev1.Secret{StringData: map[string]string{"key": "word"}}
	secret.APIVersion, secret.Kind, secret.Name = "v1", "Secret", "treasure"
	s.apply(append(j.objects(t), stranger.worker(t, 0), secret)...)
	other.apply(append(stranger.access(t), stranger.worker(t, 0), secret)...)
	s.ready(time.Minute, j.launcherName(), stranger.workerName(0))
	s.follow(j.launcherName()).until(time.Minute, "2/2 ready")

	b := s.asLauncher(j.launcherName())
	require.Equal(t, []string{
		"[] [pods/exec] [get create] [rights-worker-0 rights-worker-1]",
		"[] [pods] [list watch] []",
	}, b.rules(s.name))
	require.Empty(t, b.rules(other.name))

	here, there := "/api/v1/namespaces/"+s.name, "/api/v1/namespaces/"+other.name
	for _, row := range []struct {
		method, path string
		code         int
	}{
		{"GET", here + "/pods", http.StatusOK},
		{"GET", here + "/pods?watch=true&timeoutSeconds=1", http.StatusOK},
		{"GET", here + "/pods/rights-worker-0/exec?command=true&stdout=true", http.StatusBadRequest}, // the request has no upgrade
		{"POST", here + "/pods/rights-worker-1/exec?command=true&stdout=true", http.StatusBadRequest},
	} {
		code, text := b.do(row.method, row.path, nil)
		require.Equal(t, row.code, code, "%s %s: %s", row.method, row.path, text)
	}
	for _, row := range deniedCalls(here, there) {
		code, text := b.do(row.method, row.path, row.body)
		require.Equal(t, http.StatusForbidden, code, "%s %s: %s", row.method, row.path, text)
	}
	s.requireTokens(j)
	s.kubectl("exec", j.launcherName(), "--", "touch", "/tmp/told")
	end := s.end(j.launcherName(), time.Minute)
	require.Zero(t, end.code, end.log)
}

// apiCall is a request to the API server.
type apiCall struct {
	method, path string
	body         any
}

// deniedCalls returns requests that the API server must refuse for a launcher's token.
func deniedCalls(here, there string) []apiCall {
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "new"}, "spec": map[string]any{
		"containers": []any{map[string]any{"name": "c", "image": image("agent")}}}}
	label := map[string]any{"metadata": map[string]any{"labels": map[string]any{"muster.dev/job": "mine"}}}
	rbac := "/apis/rbac.authorization.k8s.io/v1" + strings.TrimPrefix(here, "/api/v1")
	more := map[string]any{"rules": []any{map[string]any{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"*"}}}}
	calls := []apiCall{
		// Pods that are not workers of the job, including its own launcher.
		{"GET", here + "/pods/stranger-worker-0/exec?command=true&stdout=true", nil},
		{"POST", here + "/pods/stranger-worker-0/exec?command=true&stdout=true", nil},
		{"POST", here + "/pods/rights-launcher/exec?command=true&stdout=true", nil},
		{"POST", here + "/pods/rights-worker-2/exec?command=true&stdout=true", nil}, // does not exist yet
		// Other access to its workers.
		{"GET", here + "/pods/rights-worker-0", nil},
		{"GET", here + "/pods/rights-worker-0/log", nil},
		{"POST", here + "/pods/rights-worker-0/attach?stdout=true", nil},
		{"POST", here + "/pods/rights-worker-0/portforward?ports=22", nil},
		{"GET", here + "/pods/rights-worker-0/proxy/", nil},
		{"PATCH", here + "/pods/rights-worker-0/ephemeralcontainers", label},
		{"POST", here + "/pods/rights-worker-0/eviction", nil},
		{"PATCH", here + "/pods/rights-worker-0", label},
		{"PATCH", here + "/pods/rights-worker-0/status", label},
		{"DELETE", here + "/pods/rights-worker-0", nil},
		{"DELETE", here + "/pods", nil},
		{"POST", here + "/pods", pod},
		// Other resources.
		{"GET", here + "/secrets", nil},
		{"GET", here + "/secrets/treasure", nil},
		{"GET", here + "/configmaps", nil},
		{"GET", here + "/events", nil},
		{"POST", here + "/serviceaccounts/rights-launcher/token", map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{}}},
		{"GET", rbac + "/roles", nil},
		{"PATCH", rbac + "/roles/rights-launcher", more},
		{"POST", rbac + "/rolebindings", map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "more"},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "rights-launcher"}}}},
		{"POST", "/apis/batch/v1" + strings.TrimPrefix(here, "/api/v1") + "/jobs", nil},
		// Other namespaces.
		{"GET", there + "/pods", nil},
		{"GET", there + "/pods?watch=true&timeoutSeconds=1", nil},
		{"GET", there + "/pods/stranger-worker-0", nil},
		{"POST", there + "/pods/stranger-worker-0/exec?command=true&stdout=true", nil},
		{"GET", there + "/secrets", nil},
		{"POST", there + "/pods", pod},
		{"GET", "/api/v1/pods", nil},
		{"GET", "/api/v1/secrets", nil},
		{"GET", "/api/v1/nodes", nil},
		{"GET", "/api/v1/namespaces", nil},
	}
	return calls
}

// lacking removes one verb from the rule for a resource.
func lacking(resource, verb string) func(*rbacv1.Role) {
	return func(role *rbacv1.Role) {
		for i, rule := range role.Rules {
			if slices.Contains(rule.Resources, resource) {
				role.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
			}
		}
	}
}

// TestRightsDropped removes one right at a time. The launcher must report which right is missing, and print the
// rule that grants it. TestExplainLinks removes whole rules.
func TestRightsDropped(t *testing.T) {
	t.Parallel()
	const rule = `^hint: add this rule to the Role .* namespace NS: `
	explain(t, newSpace(t), []explainRow{
		{
			name: "nolistverb", code: names.ExitForbidden, role: lacking("pods", "list"), within: 75 * time.Second,
			says: []string{`^agent: .*list pods.* forbidden: User .* cannot list resource "pods"`, rule + `.*"pods".*\["list", "watch"\]`},
		},
		{
			// A launcher can start with the pods that it lists. For a worker that comes later it needs the watch.
			name: "nowatchverb", workers: 2, created: 1, code: names.ExitForbidden, role: lacking("pods", "watch"), within: 75 * time.Second,
			says: []string{`^agent: 1/2 ready, .*Forbidden: the launcher may not watch pods`,
				`^agent: (wait for workers: )?watch pods: .* is forbidden: User .* cannot watch resource "pods"`, rule + `.*"pods".*\["list", "watch"\]`},
		},
		{
			name: "oneworker", workers: 2, code: names.ExitForbidden, within: 75 * time.Second,
			role: func(role *rbacv1.Role) { role.Rules[1].ResourceNames = []string{"x-oneworker-worker-1"} },
			says: []string{`^agent: 1/2 ready, .*POD Forbidden: no permission to exec into the pod`,
				`^agent: wait for workers: POD: the launcher may not exec into it: User .* cannot (get|create) resource "pods/exec"`,
				rule + `.*pods/exec.*\["get", "create"\], resourceNames: \[\.\.\.\]}, with the names of all workers`},
		},
		{
			// SPDY needs create only.
			name: "noexecget", role: lacking("pods/exec", "get"),
			says: []string{`^agent: 1/1 ready`},
		},
		{
			// Then the launcher uses a WebSocket. API servers before 1.35 require get only, later ones require
			// both: the expected code depends on the version.
			name: "noexeccreate", code: execWithoutCreate(t), role: lacking("pods/exec", "create"),
			says: []string{`^agent: (1/1 ready|.*cannot create resource "pods/exec")`},
		},
	})
}

// execWithoutCreate returns the exit code of a launcher that has only get of pods/exec.
func execWithoutCreate(t *testing.T) int {
	t.Helper()
	if minorVersion(t) < 35 {
		return 0
	}
	return names.ExitForbidden
}

// minorVersion returns 37 for a cluster of Kubernetes 1.37.
func minorVersion(t *testing.T) int {
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
	return minor
}

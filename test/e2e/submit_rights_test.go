//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
)

// configFor is a kubeconfig for a service account of the space.
func (s *space) configFor(account string) string {
	s.t.Helper()
	var config map[string]any
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl("config", "view", "--raw", "--minify", "-o", "json")), &config))
	user := config["users"].([]any)[0].(map[string]any)
	user["user"] = map[string]string{"token": strings.TrimSpace(s.kubectl("create", "token", account))}
	text, err := json.Marshal(config)
	require.NoError(s.t, err)
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	require.NoError(s.t, os.WriteFile(path, text, 0o600))
	return path
}

// TestSubmitRights: the Role of docs/submit.md is enough for every verb, and no more
// than it says; in a namespace that admits nothing but restricted pods.
func TestSubmitRights(t *testing.T) {
	s := newSpace(t)
	withController(t)
	s.kubectl("create", "serviceaccount", "person")
	s.apply(submitRole(t))
	s.kubectl("create", "rolebinding", "person", "--role=submit-jobs", "--serviceaccount="+s.name+":person")
	agent, config := cli(t), s.configFor("person")
	person := func(args ...string) typed {
		t.Helper()
		return s.agent(agent, 3*time.Minute, append([]string{args[0], "--kubeconfig", config}, args[1:]...)...)
	}
	ok := func(args ...string) typed {
		t.Helper()
		end := person(args...)
		require.Zero(t, end.code, "%v: %s", args, end.err)
		return end
	}
	pods := []string{"--image=" + image("openmpi"), "--image-pull-policy=IfNotPresent", "--restricted", "--run-as-user=1000"}
	said := ok(append(append([]string{"submit", "--name=short", "--workers=2", "--framework=torch", "--wait", "--logs", "--timeout=2m"}, pods...),
		"--", "sh", "-c", "echo rank $RANK as $(id -u)")...)
	require.Contains(t, said.out, "[worker-0] rank 0 as 1000\n")
	require.Contains(t, said.out, "[worker-1] rank 1 as 1000\n")
	require.Contains(t, ok("logs", "--rank", "1", "short").out, "rank 1 as 1000\n")
	require.Contains(t, ok("list").out, "short")
	require.Contains(t, ok("get", "short").out, "short-worker-1")
	require.Contains(t, ok("top", "job").out, "short")
	ok(append(append([]string{"submit", "--name=long", "--launcher"}, pods...), "--", "sleep", "300")...)
	s.kubectl("wait", "--for=condition=Launched", "lj/long", "--timeout=60s")
	require.Equal(t, "long-launcher\n", ok("attach", "long", "--", "hostname").out)
	end := person("scale", "long", "--workers", "3")
	require.Equal(t, names.ExitUsage, end.code, end.err)
	require.Contains(t, end.err, "the number of workers of a job that is not elastic does not change while it runs")
	ok("delete", "long", "--wait")
	require.Contains(t, ok("prune", "--older-than", "0s").out, `"short" deleted`)
	for _, words := range [][]string{{"list", "-A"}, {"top", "node"}} {
		end := person(words...)
		require.Equal(t, names.ExitForbidden, end.code, end.err)
		require.Contains(t, end.err, "forbidden")
	}
}

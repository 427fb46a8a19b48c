//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// pageRole is the Role in the YAML of a page of docs, and the text around it.
func pageRole(t *testing.T, page string) (role rbacv1.Role, text string) {
	t.Helper()
	found := regexp.MustCompile("(?s)\n```yaml\n(.*?\n)```\n").FindSubmatch([]byte(page))
	require.NotNil(t, found)
	text = string(found[1])
	require.NoError(t, yaml.UnmarshalStrict([]byte(strings.Split(text, "---\n")[0]), &role))
	require.Equal(t, "Role", role.Kind)
	return role, text
}

// lacksVerb gives the role without one verb of one rule, under another name.
func lacksVerb(role rbacv1.Role, rule int, verb string) rbacv1.Role {
	less := *role.DeepCopy()
	less.Name = fmt.Sprintf("no-%d-%s", rule, verb)
	less.Rules[rule].Verbs = slices.DeleteFunc(less.Rules[rule].Verbs, func(v string) bool { return v == verb })
	if len(less.Rules[rule].Verbs) == 0 {
		less.Rules = slices.Delete(less.Rules, rule, rule+1)
	}
	return less
}

// TestNotebook runs the blocks of docs/python.md with the rights that stand there, and
// sees that each of these rights is needed.
func TestNotebook(t *testing.T) {
	s := newSpaceWith(t, "privileged") // the environment is mounted from the node
	withController(t)
	files, err := kube.Files("files", map[string]string{"python.md": "../../docs/python.md", "notebook.py": "notebook.py"})
	require.NoError(t, err)
	venv, err := program.Venv(t.Context(), "kubernetes")
	require.NoError(t, err)
	role, text := pageRole(t, files.Data["python.md"])
	_, err = kubectlCall{namespace: s.name, stdin: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: notebook}\n---\n" + text)}.run("apply", "-f", "-")
	require.NoError(t, err)
	run := func(account, job string) corev1.Pod {
		return kube.Python("py-"+account, account, venv, files.Name, "/files/notebook.py", "/files/python.md", job, image("openmpi"))
	}
	s.apply(files, run("notebook", "demo"))
	var lesser []string
	for i, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			less := lacksVerb(role, i, verb)
			lesser = append(lesser, less.Name)
			s.apply(append(kube.Bound(less.Name, less.Rules...), run(less.Name, "j"+less.Name))...)
		}
	}
	require.Len(t, lesser, 6)
	end := s.end("py-notebook", 3*time.Minute)
	require.Zero(t, end.code, end.log)
	t.Log(end.log)
	for _, name := range lesser {
		end := s.end("py-"+name, 3*time.Minute)
		require.NotZero(t, end.code, "%s is not needed:\n%s", name, end.log)
		require.Contains(t, end.log, `"code":403`, name)
	}
}

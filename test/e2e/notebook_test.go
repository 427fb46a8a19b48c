//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/kube"
	"github.com/musterhq/muster/test/program"
)

// pythonPod runs a script in a pod as the service account: Debian's Python with an
// environment of test/frameworks, which is mounted from the node.
func pythonPod(t *testing.T, name, account, environment string, files corev1.ConfigMap, args ...string) corev1.Pod {
	t.Helper()
	dir, err := program.Venv(t.Context(), environment)
	require.NoError(t, err)
	directory := corev1.HostPathDirectory
	return corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"), ObjectMeta: kube.Named(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: account,
		Containers: []corev1.Container{{
			Name: "python", Image: image("frameworks"), ImagePullPolicy: corev1.PullNever,
			Command: append([]string{"python3"}, args...),
			Env: []corev1.EnvVar{{Name: "PYTHONPATH", Value: "/venv/lib/python3.11/site-packages"}, {Name: "PYTHONDONTWRITEBYTECODE", Value: "1"},
				{Name: "PYTHONUNBUFFERED", Value: "1"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "venv", MountPath: "/venv", ReadOnly: true}, {Name: "files", MountPath: "/files", ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{
			{Name: "venv", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir, Type: &directory}}},
			{Name: "files", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: files.Name}}}},
		},
	}}
}

// filesOf is a ConfigMap of files of this tree, by their base names.
func filesOf(t *testing.T, name string, paths map[string]string) corev1.ConfigMap {
	t.Helper()
	files := corev1.ConfigMap{TypeMeta: kube.Kind("v1", "ConfigMap"), ObjectMeta: kube.Named(name), Data: map[string]string{}}
	for file, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		files.Data[file] = string(text)
	}
	return files
}

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

// bound gives a service account of the role's name the role.
func bound(role rbacv1.Role) []any {
	const group = "rbac.authorization.k8s.io"
	role.TypeMeta = kube.Kind(group+"/v1", "Role")
	return []any{corev1.ServiceAccount{TypeMeta: kube.Kind("v1", "ServiceAccount"), ObjectMeta: kube.Named(role.Name)}, role,
		rbacv1.RoleBinding{TypeMeta: kube.Kind(group+"/v1", "RoleBinding"), ObjectMeta: kube.Named(role.Name),
			RoleRef:  rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: role.Name}}}}
}

// TestNotebook runs the blocks of docs/python.md with the rights that stand there, and
// sees that each of these rights is needed.
func TestNotebook(t *testing.T) {
	s := newSpaceWith(t, "privileged") // the environment is mounted from the node
	withController(t)
	files := filesOf(t, "files", map[string]string{"python.md": "../../docs/python.md", "notebook.py": "../python/notebook.py"})
	role, text := pageRole(t, files.Data["python.md"])
	_, err := kubectlCall{namespace: s.name, stdin: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: notebook}\n---\n" + text)}.run("apply", "-f", "-")
	require.NoError(t, err)
	run := func(account, job string) corev1.Pod {
		return pythonPod(t, "py-"+account, account, "kubernetes", files, "/files/notebook.py", "/files/python.md", job, image("openmpi"))
	}
	s.apply(files, run("notebook", "demo"))
	var lesser []string
	for i, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			less := lacksVerb(role, i, verb)
			lesser = append(lesser, less.Name)
			s.apply(append(bound(less), run(less.Name, "j"+less.Name))...)
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

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// job is the job of manifests/pi.yaml in other words.
type job struct {
	name    string
	image   string // of images/: openmpi, mpich
	workers int
	slots   int
	flags   []string // of agent run, besides --job, --workers, --slots and --report
	command []string
	words   bool              // the termination message is agent's own words, not its report
	edit    func(*corev1.Pod) // changes a pod before it is created; nil: as it stands
}

// reportPath is where launchers write their report: their files are gone when
// a test wants it, the termination message is not.
const reportPath = corev1.TerminationMessagePathDefault

func (j job) launcherName() string    { return j.name + "-launcher" }
func (j job) workerName(i int) string { return fmt.Sprintf("%s-worker-%d", j.name, i) }
func image(name string) string        { return "localhost/muster-" + name + ":dev" }

// manifest gives the objects of manifests/pi.yaml.
func manifest(t *testing.T) (access []map[string]any, pods []corev1.Pod) {
	t.Helper()
	text, err := os.ReadFile("manifests/pi.yaml")
	require.NoError(t, err)
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &object))
		if object["kind"] != "Pod" {
			access = append(access, object)
			continue
		}
		var pod corev1.Pod
		require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &pod))
		pods = append(pods, pod)
	}
	require.Len(t, access, 3)
	require.Len(t, pods, 3)
	return access, pods
}

// access gives the ServiceAccount, the Role and the RoleBinding.
func (j job) access(t *testing.T) []any {
	t.Helper()
	objects, _ := manifest(t)
	var all []any
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		require.NoError(t, err)
		renamed := []byte(strings.ReplaceAll(string(text), "pi-", j.name+"-"))
		if object["kind"] != "Role" {
			var other map[string]any
			require.NoError(t, yaml.Unmarshal(renamed, &other))
			all = append(all, other)
			continue
		}
		var role rbacv1.Role
		require.NoError(t, yaml.UnmarshalStrict(renamed, &role))
		exec := &role.Rules[1]
		require.Equal(t, []string{"pods/exec"}, exec.Resources)
		exec.ResourceNames = nil
		for i := range j.workers {
			exec.ResourceNames = append(exec.ResourceNames, j.workerName(i))
		}
		all = append(all, role)
	}
	return all
}

// launcher gives the launcher's pod.
func (j job) launcher(t *testing.T) corev1.Pod {
	t.Helper()
	_, pods := manifest(t)
	pod := j.adopt(pods[0])
	pod.Name, pod.Spec.ServiceAccountName = j.launcherName(), j.name+"-launcher"
	args := []string{"run", "--job=" + j.name, fmt.Sprintf("--workers=%d", j.workers), fmt.Sprintf("--slots=%d", j.slots)}
	if !j.words {
		args = append(args, "--report="+reportPath)
	}
	if !strings.Contains(strings.Join(j.command, " "), "sleep") { // else it does nothing, and it is meant to
		args = append(args, "--hang-after="+hangAfter)
	}
	args = append(append(args, j.flags...), "--")
	pod.Spec.Containers[0].Args = append(args, j.command...)
	return j.edited(pod)
}

// worker gives the pod of worker i.
func (j job) worker(t *testing.T, i int) corev1.Pod {
	t.Helper()
	_, pods := manifest(t)
	pod := j.adopt(pods[1])
	pod.Name = j.workerName(i)
	pod.Labels["muster.dev/index"] = fmt.Sprint(i)
	pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels["muster.dev/job"] = j.name
	return j.edited(pod)
}

func (j job) adopt(pod corev1.Pod) corev1.Pod {
	pod.Labels["muster.dev/job"] = j.name
	pod.Spec.Containers[0].Image = image(j.image)
	return pod
}

func (j job) edited(pod corev1.Pod) corev1.Pod {
	if j.edit != nil {
		j.edit(&pod)
	}
	return pod
}

// objects gives everything of the job.
func (j job) objects(t *testing.T) []any {
	t.Helper()
	all := append(j.access(t), j.launcher(t))
	for i := range j.workers {
		all = append(all, j.worker(t, i))
	}
	return all
}

// start creates everything of the job at once.
func (s *space) start(j job) {
	s.t.Helper()
	s.apply(j.objects(s.t)...)
}

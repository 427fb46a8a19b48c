//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// locked restricts a pod as far as Kubernetes can. It sets a uid without a passwd entry, a read-only root file
// system, no writable mounts, no capabilities, no privilege escalation, and the runtime's seccomp profile.
func locked(uid int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		yes, no := true, false
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &uid, RunAsGroup: &uid,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
}

// randomUID returns a uid like those that OpenShift assigns to a namespace.
func randomUID() int64 { return 1_000_000_000 + rand.Int64N(1_000_000_000) }

// probeJail prints a line for each thing that a locked pod must not have, and "locked" at the end.
const probeJail = `
for d in / /tmp /var/tmp /run /muster /etc/mpi /opt/muster-test "$PWD"; do
	if touch "$d/x" 2>/dev/null; then echo "can write to $d"; fi
done
if getent passwd "$(id -u)" >/dev/null; then echo "has a name"; fi
while read -r name value; do
	case $name in
	Cap*:) case $value in *[1-9a-f]*) echo "$name $value" ;; esac ;;
	NoNewPrivs:) [ "$value" = 1 ] || echo "can gain privileges" ;;
	Seccomp:) [ "$value" = 2 ] || echo "no seccomp filter" ;;
	esac
done </proc/self/status
echo locked`

// TestRestricted runs an MPI job in a namespace that enforces Pod Security "restricted", in pods that are as
// restricted as possible. Nothing is mounted: no /tmp, no home, and no token in the workers.
func TestRestricted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		image, command string
		apart          bool // each pod has a different uid
	}{
		{"openmpi", "mpirun", false},
		{"mpich", "mpiexec", false},
		{"openmpi", "mpirun", true},
		{"mpich", "mpiexec", true},
	} {
		name := c.image
		if c.apart {
			name += "-apart"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			uid := randomUID()
			t.Logf("uid %d", uid)
			j := job{name: "closed", image: c.image, workers: 2, slots: 2,
				command: []string{"sh", "-c", fmt.Sprintf("%s; %s sh -c '%s'; exec %s python3 /opt/muster-test/allreduce.py",
					probeJail, c.command, strings.ReplaceAll(probeJail, "'", `'\''`), c.command)}}
			j.edit = func(pod *corev1.Pod) {
				locked(uid)(pod)
				if c.apart {
					uid++
				}
			}
			s.start(j)
			end := s.end("closed-launcher", 3*time.Minute)
			require.Zero(t, end.code, end.log)
			require.Contains(t, end.log, "sum ok: 4 ranks, 10")
			require.Equal(t, []int{2, 2}, ranksPerWorker(t, end.log, j))
			require.Equal(t, 5, strings.Count(end.log, "locked\n"), end.log)
			require.NotRegexp(t, `can write|has a name|Cap|can gain|no seccomp`, end.log)
			require.NotContains(t, end.log, "warning")
			s.requireWorkersDone(j)
			s.requireTokens(j)
		})
	}
}

// requireTokens requires that the launcher has a token, and that the workers have none.
func (s *space) requireTokens(j job) {
	s.t.Helper()
	require.NotEmpty(s.t, tokens(s.pod(j.launcherName())))
	for i := range j.workers {
		require.Empty(s.t, tokens(s.pod(j.workerName(i))))
	}
}

// checkTokens fails the test if an existing worker has a token.
func (s *space) checkTokens() {
	s.t.Helper()
	text, err := s.try(20*time.Second, "get", "pods", "-l", names.LabelRole+"="+names.RoleWorker, "-o", "json")
	if err != nil {
		s.t.Logf("the workers' tokens were not checked: %v", err) // the test may have broken the cluster
		return
	}
	var list corev1.PodList
	require.NoError(s.t, json.Unmarshal([]byte(text), &list))
	for _, pod := range list.Items {
		if found := tokens(pod); len(found) > 0 {
			s.t.Errorf("worker %s has a service account token: %v", pod.Name, found)
		}
	}
}

// tokens returns the mounts of service account tokens in an admitted pod, except tokens with
// an audience of their own, which the API server does not accept.
func tokens(pod corev1.Pod) []string {
	var found []string
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil && source.ServiceAccountToken.Audience == "" {
				found = append(found, volume.Name)
			}
		}
	}
	return found
}

// TestRestrictedEnforced checks that the namespaces of these tests refuse a pod that is not restricted. Otherwise
// the other tests would prove nothing.
func TestRestrictedEnforced(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := job{name: "open", image: "openmpi", workers: 1, slots: 1, command: []string{"true"}}
	for what, edit := range map[string]func(*corev1.Pod){
		"runAsNonRoot": func(pod *corev1.Pod) { root := int64(0); pod.Spec.SecurityContext.RunAsUser = &root },
		"capabilities": func(pod *corev1.Pod) { pod.Spec.Containers[0].SecurityContext.Capabilities = nil },
		"seccomp":      func(pod *corev1.Pod) { pod.Spec.SecurityContext.SeccompProfile = nil },
		"hostPath": func(pod *corev1.Pod) {
			pod.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		},
	} {
		pod := j.worker(t, 0)
		edit(&pod)
		text, err := json.Marshal(pod)
		require.NoError(t, err)
		_, err = kubectlCall{namespace: s.name, stdin: text}.run("create", "-f", "-")
		require.ErrorContains(t, err, `violates PodSecurity "restricted:latest"`, what)
	}
}

// TestRestrictedManual runs the manifest of docs/operations/security.md unchanged, except for its image and the
// name of mpirun.
func TestRestrictedManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/security.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "\n```yaml\n")
	require.True(t, found)
	text, _, found := strings.Cut(after, "\n```\n")
	require.True(t, found)
	docs := strings.Split(text, "\n---\n")
	require.Len(t, docs, 5)
	second := strings.NewReplacer("name: pi-worker-0", "name: pi-worker-1", `index: "0"`, `index: "1"`).Replace(docs[4])
	require.NotEqual(t, docs[4], second)
	for name, command := range map[string]string{"openmpi": "mpirun", "mpich": "mpiexec"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			manifest := strings.NewReplacer("registry.example.com/pi:1", image(name), " mpirun,", " "+command+",").
				Replace(strings.Join(append(docs, second), "\n---\n"))
			require.Contains(t, manifest, image(name))
			_, err := kubectlCall{namespace: s.name, stdin: []byte(manifest)}.run("apply", "-f", "-")
			require.NoError(t, err)
			end := s.end("pi-launcher", 2*time.Minute)
			require.Zero(t, end.code, end.log)
			require.Contains(t, end.log, "sum ok: 4 ranks, 10")
			s.requireWorkersDone(job{name: "pi", workers: 2})
		})
	}
}

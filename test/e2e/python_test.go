//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/pipelines"
	"github.com/musterhq/muster/test/suite/program"
)

// pageRole returns the Role in the YAML of a page of docs, and the whole YAML block.
func pageRole(t *testing.T, page string) (role rbacv1.Role, text string) {
	t.Helper()
	found := regexp.MustCompile("(?s)\n```yaml\n(.*?\n)```\n").FindSubmatch([]byte(page))
	require.NotNil(t, found)
	text = string(found[1])
	require.NoError(t, yaml.UnmarshalStrict([]byte(strings.Split(text, "---\n")[0]), &role))
	require.Equal(t, "Role", role.Kind)
	return role, text
}

// lacksVerb returns the role without one verb of one rule, under another name.
func lacksVerb(role rbacv1.Role, rule int, verb string) rbacv1.Role {
	less := *role.DeepCopy()
	less.Name = fmt.Sprintf("no-%d-%s", rule, verb)
	less.Rules[rule].Verbs = slices.DeleteFunc(less.Rules[rule].Verbs, func(v string) bool { return v == verb })
	if len(less.Rules[rule].Verbs) == 0 {
		less.Rules = slices.Delete(less.Rules, rule, rule+1)
	}
	return less
}

// installedWheel installs the newest wheel of make wheel, and returns the directory. It is beside venv, where the
// nodes see it.
func installedWheel(t *testing.T, venv string) string {
	t.Helper()
	out, err := figure.Dir()
	require.NoError(t, err)
	wheels, err := filepath.Glob(filepath.Join(out, "wheel/muster_jobs-*.whl"))
	require.NoError(t, err)
	require.NotEmpty(t, wheels, "make wheel builds it")
	newest := slices.MaxFunc(wheels, func(a, b string) int { return modified(t, a).Compare(modified(t, b)) })
	dir, err := os.MkdirTemp(filepath.Dir(venv), "wheel-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	text, err := exec.Command(filepath.Join(venv, "bin/python"), "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", dir, newest).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return dir
}

func modified(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.ModTime()
}

// TestNotebook runs docs/guides/python.md with the wheel and with the rights on that page, and checks that each of
// these rights is needed.
func TestNotebook(t *testing.T) {
	s := newSpaceWith(t, "privileged") // the environment is mounted from the node
	withController(t)
	files, err := kube.Files("files", map[string]string{"python.md": "../../docs/guides/python.md", "notebook.py": "notebook.py"})
	require.NoError(t, err)
	venv, err := program.Venv(t.Context(), "kubernetes")
	require.NoError(t, err)
	wheel := installedWheel(t, venv)
	role, text := pageRole(t, files.Data["python.md"])
	_, err = kubectlCall{namespace: s.name, stdin: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: notebook}\n---\n" + text)}.run("apply", "-f", "-")
	require.NoError(t, err)
	run := func(account, job string) corev1.Pod {
		pod := kube.Python("py-"+account, account, venv, files.Name, "/files/notebook.py", "/files/python.md", job, image("openmpi"))
		kube.Mount(&pod, "wheel", wheel, "/wheel", true)
		path := &pod.Spec.Containers[0].Env[0]
		require.Equal(t, "PYTHONPATH", path.Name)
		path.Value += ":/wheel"
		return pod
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

const componentFile = "../../images/pipelines/component.yaml"

// stepPod returns a pod that runs a step as Pipelines does: its container and arguments, and directories for its
// outputs. The container keep holds the outputs for later, because the step's image has no shell.
func stepPod(name string, step pipelines.Step) corev1.Pod {
	mount := []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	own := corev1.Container{Name: "main", Image: image("agent"), ImagePullPolicy: corev1.PullNever,
		Command: step.Command, Args: step.Args, VolumeMounts: mount}
	keep := corev1.Container{Name: "keep", Image: image("openmpi"), ImagePullPolicy: corev1.PullNever,
		Command: []string{"sleep", "600"}, VolumeMounts: mount}
	pod := corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"), ObjectMeta: kube.Named(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "pipeline-runner",
		Containers: []corev1.Container{own, keep},
		Volumes:    []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}}
	pod.Labels = map[string]string{"workflows.argoproj.io/workflow": "pipeline-x7k2p"} // a label of Argo, on which both versions run
	return pod
}

// output returns a file that a step has written.
func (s *space) output(pod, file string) string {
	s.t.Helper()
	return s.kubectl("exec", pod, "-c", "keep", "--", "cat", file)
}

// endOf waits until one container of a pod has ended.
func (s *space) endOf(pod, container string, limit time.Duration) (end ended) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		for _, c := range s.pod(pod).Status.ContainerStatuses {
			if c.Name == container && c.State.Terminated != nil {
				end.code = int(c.State.Terminated.ExitCode)
				return true
			}
		}
		return false
	}, limit, time.Second, "%s has not ended", pod)
	end.log = s.kubectl("logs", pod, "-c", container)
	return end
}

// ljs returns the names of the LaunchJobs of the namespace.
func (s *space) ljs() []string {
	s.t.Helper()
	return strings.Fields(s.kubectl("get", "launchjobs", "-o", "name"))
}

// TestPipelines runs the component's container as each SDK compiles it from the same call. The job's log becomes
// the step's log, its numbers are passed on, and its end is the step's end.
func TestPipelines(t *testing.T) {
	withController(t)
	page, err := os.ReadFile("../../docs/guides/pipelines.md")
	require.NoError(t, err)
	role, text := pageRole(t, string(page))
	require.Equal(t, "launchjob-step", role.Name)
	const script = `mpirun --allow-run-as-root -np 2 sh -c 'echo "$WORKFLOW_NAME/$STEP_NAME says: $NOTE"' && echo "loss = 2.5e-3, acc: 0.75"; exit `
	for _, sdk := range pipelines.SDKs {
		t.Run(sdk, func(t *testing.T) {
			t.Parallel()
			s := newSpaceWith(t, "baseline")
			_, err := kubectlCall{namespace: s.name, stdin: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: pipeline-runner}\n---\n" + text)}.run("apply", "-f", "-")
			require.NoError(t, err)
			call := func(command string) pipelines.Step {
				step, err := pipelines.Compile(t.Context(), sdk, componentFile, map[string]any{
					"name": "train", "image": image("openmpi"), "workers": 2, "command": command, "metrics": []string{"loss", "acc:PERCENTAGE", "never"},
					"env": []string{`NOTE=it's "two" $words; {of} mine`}, "timeout_hours": 1})
				require.NoError(t, err)
				return step
			}
			good := call(script + "0")
			s.apply(stepPod("pipeline-x7k2p-1", good), stepPod("pipeline-x7k2p-2", call(script+"7")))

			end := s.endOf("pipeline-x7k2p-1", "main", 3*time.Minute)
			require.Zero(t, end.code, end.log)
			require.Regexp(t, `(?s)(pipeline-x7k2p/pipeline-x7k2p-1 says: it's "two" \$words; \{of\} mine.*){2}`, end.log)
			var metrics struct {
				Metrics []struct {
					Name        string
					NumberValue float64
					Format      string
				}
			}
			file := good.Args[slices.Index(good.Args, "--metrics-file")+1]
			require.NoError(t, json.Unmarshal([]byte(s.output("pipeline-x7k2p-1", file)), &metrics))
			require.Len(t, metrics.Metrics, 2)
			require.Equal(t, "loss", metrics.Metrics[0].Name)
			require.InDelta(t, 0.0025, metrics.Metrics[0].NumberValue, 0)
			require.Equal(t, "PERCENTAGE", metrics.Metrics[1].Format)
			name := s.output("pipeline-x7k2p-1", good.Args[slices.Index(good.Args, "--name-file")+1])
			require.Regexp(t, `^train-[a-z2-9]{5}$`, name)
			require.Equal(t, "Succeeded", s.lj(name).Status.Phase)
			require.Equal(t, "pipeline-x7k2p", s.output("pipeline-x7k2p-1", good.Args[slices.Index(good.Args, "--workflow-file")+1]))
			require.Equal(t, "pipeline-x7k2p-1", s.output("pipeline-x7k2p-1", good.Args[slices.Index(good.Args, "--step-file")+1]))

			bad := s.endOf("pipeline-x7k2p-2", "main", 3*time.Minute)
			require.Equal(t, 7, bad.code, bad.log)
			require.NotEmpty(t, s.output("pipeline-x7k2p-2", file), "a missing output would fail the step")
			require.Len(t, s.ljs(), 2, "each step must have its own job")

			// A run that is terminated ends its job.
			s.apply(stepPod("pipeline-x7k2p-3", call("sleep 600")))
			s.kubectl("wait", "--for=condition=Ready", "pod/pipeline-x7k2p-3", "--timeout=55s")
			require.Eventually(t, func() bool { return len(s.ljs()) == 3 }, time.Minute, time.Second)
			long := strings.TrimSpace(s.output("pipeline-x7k2p-3", good.Args[slices.Index(good.Args, "--name-file")+1]))
			s.becomes(long, time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
			s.kubectl("delete", "pod", "pipeline-x7k2p-3", "--wait=false")
			require.Eventually(t, func() bool { return len(s.ljs()) == 2 }, 20*time.Second, time.Second, "the job must be deleted")

			for output, at := range good.Outputs {
				require.True(t, path.IsAbs(at), output)
				s.output("pipeline-x7k2p-1", at)
			}
		})
	}
}

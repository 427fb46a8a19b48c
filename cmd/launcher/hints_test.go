//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// mistake is a command line that causes a hint, with the lines that a reader of the hint would type
// next.
type mistake struct {
	line     string
	code     int
	followed []follow
}

type follow struct {
	line string
	code int
}

var coded = regexp.MustCompile(`^\[(\d+)\] `)

// mistakes reads testdata/hints. "$ [CODE] LINE" is a mistake, by default with exit code 64. ">
// [CODE] LINE" follows the hint of the mistake, by default with exit code 0.
func mistakes(t *testing.T) (all []mistake) {
	files, err := filepath.Glob("testdata/hints/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			mark, line, _ := strings.Cut(strings.TrimSpace(line), " ")
			code := map[string]int{"$": 64}[mark]
			if m := coded.FindStringSubmatch(line); m != nil {
				code, err = strconv.Atoi(m[1])
				require.NoError(t, err)
				line = line[len(m[0]):]
			}
			switch mark {
			case "$":
				all = append(all, mistake{line: line, code: code})
			case ">":
				last := &all[len(all)-1]
				last.followed = append(last.followed, follow{line, code})
			}
		}
	}
	return all
}

// given lists words that a line may use although its hint does not contain them: words that the
// reader knows, and words that keep the test short.
var given = []string{"--dry-run", "--fake", "--await", "--timeout", "--name", "--image", "agent run"}

// TestHintsCanBeFollowed makes each mistake and then follows its hint, which must work. The lines
// use all flags and verbs of the hint, and no others.
func TestHintsCanBeFollowed(t *testing.T) {
	t.Parallel()
	saw := &sighted{}
	t.Run("mistakes", func(t *testing.T) {
		for _, m := range mistakes(t) {
			t.Run(m.line, func(t *testing.T) {
				t.Parallel()
				saw.add(m.try(t))
			})
		}
	})
	saw.lacks(t)
}

// try makes the mistake and returns the hint.
func (m mistake) try(t *testing.T) string {
	w := newHinted(t)
	_, complaint := w.sh(m.code, m.line)
	_, hint, ok := strings.Cut(complaint, "hint: ")
	require.True(t, ok, "no hint: %s", complaint)
	require.NotEmpty(t, m.followed)
	used := m.line
	for _, f := range m.followed {
		for _, word := range named(f.line) {
			if !strings.Contains(m.line, word) && !slices.Contains(given, word) {
				require.Contains(t, hint, word, "the hint does not mention a word of this line: %s", f.line)
			}
		}
		w.sh(f.code, f.line)
		used += "\n" + f.line
	}
	for _, word := range named(hint) {
		require.True(t, strings.Contains(used, word), "no line uses %s of the hint: %s", word, hint)
	}
	return hint
}

var (
	flags = regexp.MustCompile(`(?:^|[ (])(--[a-z][-a-z]*|-[a-z]\b)`)
	verbs = regexp.MustCompile(`\b(agent (?:` + strings.Join(allVerbs(), "|") + `))\b`)
	other = regexp.MustCompile(`(?m)(kubectl|ulimit|df) .*?(;|, then|, and|$)`) // tools whose flags are not ours
)

// named returns the flags and verbs of a command line up to its --, or of a hint.
func named(line string) (words []string) {
	line, _, _ = strings.Cut(other.ReplaceAllString(line, ""), " -- ")
	for _, m := range append(flags.FindAllStringSubmatch(line, -1), verbs.FindAllStringSubmatch(line, -1)...) {
		words = append(words, m[1])
	}
	return words
}

// hinted is an environment for command lines: a directory, an API server with the jobs pi (with a
// launcher) and tf (without a launcher), and no launcher on this machine.
type hinted struct {
	t   *testing.T
	env []string
}

func newHinted(t *testing.T) hinted {
	dir, err := os.MkdirTemp("", "h") // a short path, for sockets
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	o := newOffice(t)
	o.api.Handle("GET /api/v1/nodes", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"apiVersion": "v1", "kind": "NodeList", "items": []}`)
	}))
	require.NoError(t, o.configure(filepath.Join(dir, "kubeconfig")))
	o.employ("pi", true)
	o.employ("tf", false)
	o.employ("young", true)
	o.remove("young")
	o.employ("old", true)
	o.dismiss("old")
	w := hinted{t: t, env: []string{"WORK=" + dir, "HOME=" + dir, "TMPDIR=" + dir, "KUBECONFIG=" + filepath.Join(dir, "kubeconfig"), "PORT=" + freePort(t),
		"PATH=" + bin + ":" + os.Getenv("PATH"), "MUSTER_DIR=" + filepath.Join(dir, "r"), "MUSTER_MPI_DIR=" + filepath.Join(dir, "mpi"), "MUSTER_TERMINATION_LOG=" + filepath.Join(dir, "last-words")}}
	for name, text := range map[string]string{
		"file": "no hostfile: {\n", "hosts": "w-0 slots=1\n", "token": "0123456789abcdef", "logs/rank-0.out": "loss=1\nimages/sec=2\n", "none.yaml": "kind: Service\n",
		"job.yaml": "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: pi}\nspec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: m, image: i, command: [mpirun, ./pi]}]}}}, " +
			"Worker: {replicas: 2, template: {spec: {containers: [{name: m, image: i}]}}}}}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return w
}

func (w hinted) sh(code int, line string) (stdout, stderr string) {
	w.t.Helper()
	var out, err bytes.Buffer
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w.env, &out, &err, 5*time.Second
	var exit *osexec.ExitError
	if rerr := cmd.Run(); rerr != nil && !errors.As(rerr, &exit) {
		require.NoError(w.t, rerr)
	}
	require.Equal(w.t, code, cmd.ProcessState.ExitCode(), "%s\n%s%s", line, out.String(), err.String())
	return out.String(), err.String()
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// employ creates a running job with two workers, and its pods.
func (o *office) employ(name string, launcher bool) {
	job := v1alpha1.LaunchJob{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.Version().String(), Kind: v1alpha1.Kind}}
	job.Name, job.Namespace = name, "lab"
	job.Spec.Workers, job.Spec.Roles = new(int32(2)), []v1alpha1.Role{{Name: "worker"}}
	job.Spec.Roles[0].Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "repo/pi:1"}}
	job.Status.Phase, job.Status.Attempt = v1alpha1.PhaseRunning, 1
	roles := map[string]string{name + "-worker-0": "worker", name + "-worker-1": "worker"}
	if launcher {
		job.Spec.Launcher = &v1alpha1.Launcher{Template: job.Spec.Roles[0].Template}
		roles[name+"-launcher"] = "launcher"
	}
	o.jobs.Put(job)
	for pod, role := range roles {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main"}}}}
		p.Name, p.Namespace = pod, "lab"
		p.Labels = map[string]string{names.LabelJob: name, names.LabelPod: pod, names.LabelRole: role, names.LabelIndex: pod[len(pod)-1:]}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		o.api.Set(p)
		o.logs.Write("lab", pod, "main", time.Now(), "loss=1\n")
	}
}

// remove deletes the job's pods.
func (o *office) remove(name string) {
	for _, pod := range []string{"-launcher", "-worker-0", "-worker-1"} {
		o.api.Delete("lab", name+pod)
	}
}

// dismiss makes the job succeed.
func (o *office) dismiss(name string) {
	var job v1alpha1.LaunchJob
	o.jobs.Get("lab", name, &job)
	job.Status.Phase = v1alpha1.PhaseSucceeded
	job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.PhaseSucceeded, Status: metav1.ConditionTrue, Reason: "Ended", LastTransitionTime: metav1.Now()}}
	o.jobs.Put(job)
	for _, pod := range []string{"-launcher", "-worker-0", "-worker-1"} {
		p := o.api.Pod("lab", name+pod)
		p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
		}}}
		o.api.Set(p)
		o.logs.End("lab", name+pod, "main")
	}
}

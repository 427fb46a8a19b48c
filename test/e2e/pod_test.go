//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/test/suite/kube"
)

// ended is the result of a container that has ended.
type ended struct {
	code     int
	log      string // stdout and stderr, in the order of writing
	message  string // termination message
	started  time.Time
	finished time.Time
}

// end waits until the first container of a pod has ended, and reads its result.
func (s *space) end(pod string, limit time.Duration) ended {
	s.t.Helper()
	status := s.terminated(pod, limit)
	return ended{
		code: int(status.ExitCode), log: s.logs(pod), message: status.Message,
		started: status.StartedAt.Time, finished: status.FinishedAt.Time,
	}
}

// terminated waits until the first container of a pod has ended. The API server may be down meanwhile.
func (s *space) terminated(pod string, limit time.Duration) corev1.ContainerStateTerminated {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		_, err := s.try(time.Until(deadline)+5*time.Second, "wait", "--for=jsonpath={.status.containerStatuses[0].state.terminated}",
			"pod/"+pod, "--timeout="+time.Until(deadline).Round(time.Second).String())
		if err == nil {
			break
		}
		require.True(s.t, time.Now().Before(deadline), "%s did not end within %s: %v", pod, limit, err)
	}
	return *s.pod(pod).Status.ContainerStatuses[0].State.Terminated
}

// report returns the launcher's --report.
func (s *space) report(e ended) report.Report {
	s.t.Helper()
	var r report.Report
	require.NoError(s.t, json.Unmarshal([]byte(e.message), &r), "report in the termination message %q", e.message)
	return r
}

// pod reads a pod.
func (s *space) pod(name string) corev1.Pod {
	s.t.Helper()
	var pod corev1.Pod
	s.read(&pod, "get", "pod", name)
	return pod
}

// read decodes the output of a get of kubectl into object.
func (s *space) read(object any, get ...string) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl(append(get, "-o", "json")...)), object))
}

// pods reads all pods of the namespace.
func (s *space) pods() []corev1.Pod {
	s.t.Helper()
	var list corev1.PodList
	s.read(&list, "get", "pods")
	return list.Items
}

// logs returns the output of a pod so far.
func (s *space) logs(pod string) string {
	s.t.Helper()
	return s.kubectl("logs", pod)
}

// ready waits until pods are Ready.
func (s *space) ready(limit time.Duration, pods ...string) {
	s.t.Helper()
	args := []string{"wait", "--for=condition=Ready", "--timeout=" + limit.String()}
	for _, pod := range pods {
		args = append(args, "pod/"+pod)
	}
	_, err := s.try(limit+5*time.Second, args...)
	require.NoError(s.t, err)
}

// result is the result of a command that ran through kubectl exec.
type result struct {
	code           int
	stdout, stderr string
}

// exec runs a command in a pod with kubectl exec, as users do.
func (s *space) exec(limit time.Duration, pod string, command ...string) result {
	s.t.Helper()
	out, err := s.try(limit, append([]string{"exec", pod, "--"}, command...)...)
	var exit *exec.ExitError
	var call *callError
	if errors.As(err, &exit) && errors.As(err, &call) && exit.Exited() {
		return result{exit.ExitCode(), out, call.stderr}
	}
	require.NoError(s.t, err)
	return result{stdout: out}
}

// lines are the lines of a container as they are written.
type lines struct {
	s    *space
	pod  string
	next chan string
	seen []string
}

// follow reads a pod's log from its first line until the container ends.
func (s *space) follow(pod string) *lines {
	s.t.Helper()
	// There is no log before there is a container, and `logs -f` does not wait for one.
	s.kubectl("wait", "--for=create", "pod/"+pod, "--timeout=55s")
	s.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].containerID}", "pod/"+pod, "--timeout=55s")
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, kube.Path(), "--namespace", s.name, "logs", "-f", pod)
	stdout, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	l := &lines{s: s, pod: pod, next: make(chan string)}
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(l.next)
		for scan := bufio.NewScanner(stdout); scan.Scan(); {
			select {
			case l.next <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	})
	s.t.Cleanup(func() {
		cancel()
		reader.Wait()
		_ = cmd.Wait() // we have killed it
	})
	return l
}

// until waits for a line that contains word, and returns it.
func (l *lines) until(limit time.Duration, word string) string {
	l.s.t.Helper()
	timeout := time.After(limit)
	for {
		select {
		case line, ok := <-l.next:
			if !ok {
				l.s.t.Fatalf("%s ended without a line with %q:\n%s", l.pod, word, strings.Join(l.seen, "\n"))
			}
			l.seen = append(l.seen, line)
			if strings.Contains(line, word) {
				return line
			}
		case <-timeout:
			l.s.t.Fatalf("no line with %q from %s within %s:\n%s", word, l.pod, limit, strings.Join(l.seen, "\n"))
		}
	}
}

// drain reads lines until the container has ended.
func (l *lines) drain(limit time.Duration) {
	l.s.t.Helper()
	timeout := time.After(limit)
	for {
		select {
		case line, ok := <-l.next:
			if !ok {
				return
			}
			l.seen = append(l.seen, line)
		case <-timeout:
			l.s.t.Fatalf("%s did not end within %s:\n%s", l.pod, limit, strings.Join(l.seen, "\n"))
		}
	}
}

// job describes the job of manifests/pi.yaml with changes.
type job struct {
	name    string
	image   string // of images/: openmpi, mpich
	workers int
	slots   int
	flags   []string // of agent run, besides --job, --workers, --slots and --report
	command []string
	words   bool              // the termination message is the launcher's message, not its report
	edit    func(*corev1.Pod) // changes a pod before it is created; nil: no change
}

// reportPath is where launchers write their report. A test reads it after the launcher's files are deleted, when
// only the termination message is left.
const reportPath = corev1.TerminationMessagePathDefault

func (j job) launcherName() string    { return j.name + "-launcher" }
func (j job) workerName(i int) string { return fmt.Sprintf("%s-worker-%d", j.name, i) }
func image(name string) string        { return "localhost/muster-" + name + ":dev" }

// manifest returns the objects of manifests/pi.yaml.
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

// access returns the ServiceAccount, the Role and the RoleBinding.
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

// launcher returns the launcher's pod.
func (j job) launcher(t *testing.T) corev1.Pod {
	t.Helper()
	_, pods := manifest(t)
	pod := j.adopt(pods[0])
	pod.Name, pod.Spec.ServiceAccountName = j.launcherName(), j.name+"-launcher"
	args := []string{"run", "--job=" + j.name, fmt.Sprintf("--workers=%d", j.workers), fmt.Sprintf("--slots=%d", j.slots)}
	if !j.words {
		args = append(args, "--report="+reportPath)
	}
	if !strings.Contains(strings.Join(j.command, " "), "sleep") { // a job that sleeps is meant to be idle
		args = append(args, "--hang-after="+hangAfter)
	}
	args = append(append(args, j.flags...), "--")
	pod.Spec.Containers[0].Args = append(args, j.command...)
	return j.edited(pod)
}

// worker returns the pod of worker i.
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

// objects returns all objects of the job.
func (j job) objects(t *testing.T) []any {
	t.Helper()
	all := append(j.access(t), j.launcher(t))
	for i := range j.workers {
		all = append(all, j.worker(t, i))
	}
	return all
}

// start creates all objects of the job at once.
func (s *space) start(j job) {
	s.t.Helper()
	s.apply(j.objects(s.t)...)
}

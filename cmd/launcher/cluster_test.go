//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/fakekube"
	"github.com/musterhq/muster/test/suite/proc"
)

const namespace = "ns"

// cluster is an API server whose pods are real `agent worker` processes.
type cluster struct {
	t          *testing.T
	api        *fakekube.Server
	exec       *fakekube.Exec
	kubeconfig string
	dir        string

	mu      sync.Mutex
	workers map[string]*osexec.Cmd // by pod name
	noAgent bool
	image   []string // variables of the image, which are in the workers' processes but not in a pod's spec
	copies  sync.WaitGroup
}

// markOf returns a variable that marks all processes of a cluster's workers.
func markOf(dir string) string { return "CLUSTER_TEST=" + dir }

func newCluster(t *testing.T) *cluster {
	dir, err := os.MkdirTemp("", "muster") // the directory of a test may be too long for sockets
	require.NoError(t, err)
	t.Cleanup(func() {
		proc.Wipe(markOf(dir)) // processes that killed workers have left
		os.RemoveAll(dir)
	})
	c := &cluster{t: t, api: fakekube.New(t), dir: dir, workers: map[string]*osexec.Cmd{}}
	c.exec = fakekube.NewExec(t, c.attach)
	c.exec.Refuse(fakekube.SPDY, http.StatusBadRequest, "WebSockets only") // Refuse explains why
	c.api.Handle(fakekube.ExecPath, c.exec)
	c.kubeconfig = filepath.Join(dir, "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c, namespace: %s}}]\ncurrent-context: c\n", c.api.URL(), namespace)
	require.NoError(t, os.WriteFile(c.kubeconfig, []byte(config), 0o600))
	return c
}

// attach runs the command of a pods/exec request.
func (c *cluster) attach(ctx context.Context, pod, _ string, argv []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if c.noAgent {
		return 0, fmt.Errorf("exec: %q: stat %s: no such file or directory", argv[0], argv[0])
	}
	cmd := osexec.CommandContext(ctx, filepath.Join(bin, "agent"), argv[1:]...)
	cmd.Env = append(os.Environ(), names.EnvDir+"="+filepath.Join(c.dir, pod))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// As in a container runtime, the end of the process ends the stream, even if stdin has not been
	// read.
	input, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	c.copies.Go(func() {
		_, _ = io.Copy(input, stdin)
		input.Close()
	})
	err = cmd.Wait()
	var exit *osexec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// start starts the process and creates the pod of worker i. It returns the output of the worker.
func (c *cluster) start(i int, changes ...func(*corev1.Pod)) *contract.Text {
	name := podName(i)
	dir := filepath.Join(c.dir, name)
	require.NoError(c.t, os.Mkdir(dir, 0o700))
	cmd := osexec.Command(filepath.Join(bin, "agent"), "worker")
	cmd.Env = append(append(os.Environ(), names.EnvDir+"="+dir, "ON="+name, markOf(c.dir)), c.image...)
	var said contract.Text
	cmd.Stderr = &said
	require.NoError(c.t, cmd.Start())
	c.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	c.mu.Lock()
	c.workers[name] = cmd
	c.mu.Unlock()
	pod := c.pod(i)
	for _, change := range changes {
		change(pod)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.2.%d", i+1),
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Ready: true, ContainerID: "containerd://" + name,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}},
	}
	c.api.Set(pod)
	return &said
}

func (c *cluster) pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: podName(i), Namespace: namespace, UID: types.UID(fmt.Sprintf("uid-%d", i)),
			Labels:            map[string]string{names.LabelJob: "pi", names.LabelRole: names.RoleWorker, names.LabelIndex: fmt.Sprint(i)},
			CreationTimestamp: metav1.Now(),
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "repo/image:tag"}}},
	}
}

func podName(i int) string { return fmt.Sprintf("pi-worker-%d", i) }

// exited waits until the worker of pod i ends and returns its exit code.
func (c *cluster) exited(i int) int {
	c.mu.Lock()
	cmd := c.workers[podName(i)]
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
		return cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		c.t.Fatalf("worker %d did not end", i)
		return 0
	}
}

// launcher is one run of `agent run`.
type launcher struct {
	*osexec.Cmd
	out, err contract.Text
	report   string
}

func (c *cluster) run(args ...string) *launcher { return c.runWith(bin, nil, args...) }

func (c *cluster) runEnv(env []string, args ...string) *launcher { return c.runWith(bin, env, args...) }

// runWith runs the agent from another directory, with additional variables.
func (c *cluster) runWith(bin string, env []string, args ...string) *launcher {
	id := fmt.Sprintf("l%d", time.Now().UnixNano()%1e6)
	l := &launcher{report: filepath.Join(c.dir, id+".json")}
	l.Cmd = osexec.Command(filepath.Join(bin, "agent"), append([]string{"run", "--job=pi", "--kubeconfig", c.kubeconfig, "--report", l.report}, args...)...)
	l.Env = append(os.Environ(), names.EnvDir+"="+filepath.Join(c.dir, id), "MUSTER_MPI_DIR="+filepath.Join(c.dir, id+"-mpi"),
		"PATH="+bin+":"+os.Getenv("PATH"))
	l.Env = append(l.Env, env...)
	l.Stdout, l.Stderr = &l.out, &l.err
	require.NoError(c.t, l.Start())
	c.t.Cleanup(func() { _ = l.Process.Kill() })
	return l
}

func (l *launcher) end(t *testing.T) int {
	t.Helper()
	done := make(chan struct{})
	go func() { _ = l.Wait(); close(done) }()
	select {
	case <-done:
		return l.ProcessState.ExitCode()
	case <-time.After(60 * time.Second):
		_ = l.Process.Kill()
		t.Fatalf("launcher did not end; stderr:\n%s", l.err.String())
		return 0
	}
}

func (l *launcher) figures(t *testing.T) (r struct {
	Redials  int
	Sessions int
	Lost     []struct{ Worker, Cause string }
}) {
	t.Helper()
	text, err := os.ReadFile(l.report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 20*time.Millisecond, what)
}

func TestClusterRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(1)
	l := c.run("--workers=2", "--", "sh", "-c", `for h in pi-worker-0 pi-worker-1.svc.ns 10.1.2.2; do agent rsh $h 'echo on $ON'; done; agent hosts`)
	eventually(t, "the launcher prints which workers are missing", func() bool {
		return strings.Contains(l.err.String(), "agent: 1/2 ready") && strings.Contains(l.err.String(), "Missing: no pod yet for worker 0")
	})
	c.start(0) // the worker starts after the launcher, and out of order
	require.Zero(t, l.end(t), l.err.String())
	require.Equal(t, "on pi-worker-0\non pi-worker-1\non pi-worker-1\n10.1.2.1 slots=1\n10.1.2.2 slots=1\n", l.out.String())
	require.Equal(t, 3, l.figures(t).Sessions)
	require.Zero(t, c.exited(0), "the launcher told the worker that the job has ended")
	require.Zero(t, c.exited(1))
	for _, r := range c.api.Requests() {
		require.NotContains(t, r.Query, "echo", "the command is sent in the stream, not in a URL")
	}
}

func TestClusterKeepsWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	l := c.run("--workers=1", "--keep-workers", "--", "agent", "rsh", "pi-worker-0", "sleep 4714 >/dev/null 2>&1 & exit 3")
	require.Equal(t, 3, l.end(t))
	l = c.run("--workers=1", "--", "agent", "rsh", "pi-worker-0", "pgrep -f '[s]leep 4714'")
	require.Equal(t, 1, l.end(t), "processes of the first run must not survive: %s", l.out.String())
	require.Zero(t, c.exited(0))
}

func TestClusterDeadline(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	stranger := c.pod(1)
	stranger.Labels[names.LabelRole] = "wroker"
	c.api.Set(stranger)
	l := c.run("--workers=2", "--timeout=2s", "--", "true")
	require.Equal(t, names.ExitDeadline, l.end(t))
	require.Contains(t, l.err.String(), "selector: muster.dev/job=pi,muster.dev/role=worker, in namespace ns: 1 pod matches")
	require.Contains(t, l.err.String(), "agent: waiting for 2 workers, 2s at most (--timeout)")
	require.NotContains(t, l.err.String(), "wroker", "pods that do not match are not mentioned")
	require.Zero(t, c.exited(0), "the launcher told the existing worker that the job has ended")
}

// TestClusterNamedPods checks that a wait for named pods is about these, and not about a selector that nobody
// uses.
func TestClusterNamedPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	l := c.run("--pods=pi-worker-0,pi-worker-1,pi-worker-2", "--timeout=2s", "--", "true")
	require.Equal(t, names.ExitDeadline, l.end(t))
	require.Contains(t, l.err.String(), "names: pi-worker-0, pi-worker-1, pi-worker-2, in namespace ns: 1 pod exists")
	require.Contains(t, l.err.String(), "no pod yet for pi-worker-1, pi-worker-2 for ")
	require.Contains(t, l.err.String(), "hint: see what creates the pods: kubectl get pods pi-worker-1 pi-worker-2 -n ns")
	require.NotContains(t, l.err.String(), "selector")
	l = c.run("--pods=pi-worker-7", "--dry-run", "--", "true")
	require.Equal(t, names.ExitDeadline, l.end(t))
	require.Contains(t, l.err.String(), "no workers yet: no pod has the name pi-worker-7")
}

// TestClusterWaitsWithoutLimit checks that a launcher with --timeout=0 waits without a limit. The
// controller sets that for a LaunchJob, whose launcher waits as long as the job may live.
func TestClusterWaitsWithoutLimit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	l := c.run("--workers=2", "--timeout=0s", "--", "true")
	eventually(t, "the launcher waits", func() bool { return strings.Contains(l.err.String(), "agent: 1/2 ready") })
	require.NotContains(t, l.err.String(), "at most")
	c.start(1)
	require.Zero(t, l.end(t), l.err.String())
}

func TestClusterHopeless(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := c.pod(0)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName", Message: "couldn't parse image"}},
	}}}
	c.api.Set(pod)
	began := time.Now()
	l := c.run("--workers=1", "--hopeless-after=1s", "--", "true")
	require.Equal(t, names.ExitHopeless, l.end(t))
	require.Less(t, time.Since(began), 30*time.Second)
	require.Contains(t, l.err.String(), "pi-worker-0")
	require.Contains(t, l.err.String(), "hint: ")
}

func TestClusterAgentMissing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.noAgent = true
	c.start(0)
	l := c.run("--workers=1", "--hopeless-after=1s", "--worker-agent=/nowhere/agent", "--", "true")
	require.Equal(t, names.ExitHopeless, l.end(t))
	require.Contains(t, l.err.String(), "NoAgent: no /nowhere/agent in container main")
	require.Contains(t, l.err.String(), "--worker-agent")
}

func TestClusterForbiddenIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.exec.Refuse(fakekube.WebSocket, 403, forbidden)
	c.exec.Refuse(fakekube.SPDY, 403, forbidden)
	l := c.run("--workers=1", "--", "true")
	eventually(t, "the first 403 is shown", func() bool { return strings.Contains(l.err.String(), "Forbidden: no permission to exec") })
	require.Contains(t, l.err.String(), `resources: ["pods/exec"]`)
	_ = l.Process.Signal(syscall.SIGTERM)
	require.Equal(t, 143, l.end(t))
	require.Contains(t, l.err.String(), "told to stop by SIGTERM while waiting for workers")
}

const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"pi-worker-0\" is forbidden: ` +
	`User cannot create resource pods/exec","reason":"Forbidden","code":403}`

func TestClusterSurvivesAPIServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	script := `for h in 0 1; do agent rsh pi-worker-$h 'i=0; while [ $i -lt 200 ]; do echo $i; i=$((i+1)); sleep 0.02; done' > ` + c.dir + `/out$h & done; wait; sleep 1`
	l := c.run("--workers=2", "--", "sh", "-c", script)
	eventually(t, "output flows", func() bool { b, _ := os.ReadFile(c.dir + "/out1"); return len(b) > 50 })
	c.api.Stop()
	c.exec.Cut(true)
	outage()
	c.api.Start()
	require.Zero(t, l.end(t), l.err.String())
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintln(&want, i)
	}
	for _, name := range []string{"/out0", "/out1"} {
		got, err := os.ReadFile(c.dir + name)
		require.NoError(t, err)
		require.Equal(t, want.String(), string(got))
	}
	require.GreaterOrEqual(t, l.figures(t).Redials, 2)
	require.Contains(t, l.err.String(), "links redialed")
}

func TestClusterPodDeleted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--", "sh", "-c", "trap 'exit 0' TERM; agent rsh pi-worker-0 touch "+c.dir+"/started; sleep 60 & wait")
	eventually(t, "the command runs", func() bool { _, err := os.Stat(c.dir + "/started"); return err == nil })
	began := time.Now()
	c.mu.Lock()
	_ = c.workers[podName(1)].Process.Kill()
	c.mu.Unlock()
	c.api.Delete(namespace, podName(1))
	require.Equal(t, names.ExitHopeless, l.end(t), l.err.String())
	require.Less(t, time.Since(began), 10*time.Second)
	require.Contains(t, l.err.String(), "agent: worker pi-worker-1 lost: the pod was deleted while the job ran")
	require.Equal(t, podName(1), l.figures(t).Lost[0].Worker)
	require.Zero(t, c.exited(0))
}

func TestClusterSuperseded(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	first := c.run("--workers=1", "--", "sleep", "60")
	eventually(t, "the first launcher has the worker", func() bool { return strings.Contains(first.err.String(), "1/1 ready") })
	second := c.run("--workers=1", "--", "agent", "rsh", "pi-worker-0", "echo mine; sleep 3")
	require.Zero(t, second.end(t), second.err.String())
	require.Equal(t, "mine\n", second.out.String())
	require.Equal(t, names.ExitHopeless, first.end(t), first.err.String())
	require.Contains(t, first.err.String(), "worker pi-worker-0 lost: the worker belongs to a newer launcher, launcher ")
	require.Contains(t, first.err.String(), "; this is launcher ")
}

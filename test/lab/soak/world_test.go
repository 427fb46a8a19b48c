//go:build soak

package soak

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/fakekube"
)

const (
	namespace = "ns"
	workerPod = "pi-worker-0"
)

// world is a cluster with one worker, which is a real process, and the road to it.
type world struct {
	t      *testing.T
	dir    string
	exec   *fakekube.Exec
	front  *front
	road   *road
	tokens int
	worker *exec.Cmd
}

// newWorld starts a world. prepare, if not nil, gets the worker's directory and
// returns additional variables for its environment.
func newWorld(t *testing.T, patience time.Duration, prepare func(dir string) []string) *world {
	// A test's own directory may be too long for a socket's path.
	dir, err := os.MkdirTemp("", "soak")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	w := &world{t: t, dir: dir}
	api := fakekube.New(t)
	w.exec = fakekube.NewExec(t, w.attach)
	w.exec.Refuse(fakekube.SPDY, http.StatusBadRequest, "WebSockets only") // Refuse explains why
	api.Handle(fakekube.ExecPath, w.exec)
	w.front = newFront(t, api)
	w.road = newRoad(t, w.front.server.Listener.Addr().String(), patience)
	w.rotate()
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority-data: %s}}],
users: [{name: u, user: {tokenFile: %q}}],
contexts: [{name: c, context: {cluster: c, user: u, namespace: %s}}]}
`, w.road.address, base64.StdEncoding.EncodeToString([]byte(w.front.ca)), w.path("token"), namespace)
	require.NoError(t, os.WriteFile(w.path("kubeconfig"), []byte(config), 0o600))
	require.NoError(t, os.Mkdir(w.path("worker"), 0o700))
	var env []string
	if prepare != nil {
		env = prepare(w.path("worker"))
	}
	w.start(env)
	api.Set(pod())
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// rotate writes a new token like the kubelet: the file is replaced
// atomically. It returns the old token, which is rejected from now on.
func (w *world) rotate() (old string) {
	now := func() string { return fmt.Sprintf("token-%d", w.tokens) }
	old = now()
	w.tokens++
	require.NoError(w.t, os.WriteFile(w.path("token.new"), []byte(now()), 0o600))
	require.NoError(w.t, os.Rename(w.path("token.new"), w.path("token")))
	w.front.rotate(now())
	return old
}

// start starts the worker.
func (w *world) start(env []string) {
	log, err := os.Create(w.path("worker.log"))
	require.NoError(w.t, err)
	defer log.Close()
	w.worker = exec.Command(filepath.Join(bin, "agent"), "worker")
	w.worker.Env = append(append(os.Environ(), names.EnvDir+"="+w.path("worker")), env...)
	w.worker.Stderr = log
	w.worker.Dir = w.dir
	require.NoError(w.t, w.worker.Start())
	w.t.Cleanup(func() { _ = w.worker.Process.Kill(); _ = w.worker.Wait() })
}

// workerLog returns the worker's log.
func (w *world) workerLog() string {
	text, err := os.ReadFile(w.path("worker.log"))
	require.NoError(w.t, err)
	return string(text)
}

// attach is the command that pods/exec runs.
func (w *world) attach(ctx context.Context, _, _ string, argv []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "agent"), argv[1:]...)
	cmd.Env = append(os.Environ(), names.EnvDir+"="+w.path("worker"))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// As in a container, the end of the process ends the stream, whether or not
	// its stdin has been read.
	input, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(input, stdin)
		input.Close()
	}()
	w.t.Cleanup(func() { <-copied })
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: workerPod, Namespace: namespace, UID: "uid-0", CreationTimestamp: metav1.Now(),
			Labels: map[string]string{names.LabelJob: "pi", names.LabelRole: names.RoleWorker, names.LabelIndex: "0"},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "repo/image:tag"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.1.2.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", Ready: true, ContainerID: "containerd://main",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
}

// launcher returns the command `agent run` with a shell command.
func (w *world) launcher(command string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, "agent"), "run", "--job=pi", "--workers=1", "--kubeconfig", w.path("kubeconfig"),
		"--report", w.path("report.json"), "--log-level=info", "--", "sh", "-c", command)
	cmd.Env = append(os.Environ(), names.EnvDir+"="+w.path("launcher"), "MUSTER_MPI_DIR="+w.path("mpi"),
		"PATH="+bin+":"+os.Getenv("PATH"))
	log, err := os.Create(w.path("launcher.log"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { log.Close() })
	cmd.Stderr = log
	w.t.Cleanup(func() {
		if text, err := os.ReadFile(w.path("launcher.log")); err == nil {
			w.t.Logf("launcher:\n%s", text)
		}
		w.t.Logf("worker:\n%s", w.workerLog())
	})
	return cmd
}

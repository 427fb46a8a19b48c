//go:build speed

package network

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/test/fakekube"
)

// farmSize is how many workers share a process.
const farmSize = 100

func TestMain(m *testing.M) {
	if config := os.Getenv(farmVariable); config != "" {
		if err := farm(config); err != nil {
			fmt.Println("farm:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestScale(t *testing.T) {
	for size := range strings.SplitSeq(os.Getenv("SIZES"), ",") {
		n, err := strconv.Atoi(size)
		require.NoError(t, err, "SIZES=1000,10000")
		t.Run(size, func(t *testing.T) { launch(t, n) })
	}
}

// launch runs one job on n workers.
func launch(t *testing.T, n int) {
	dir, err := os.MkdirTemp("", "muster")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	paths, err := secure.WritePair(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	api := fakekube.New(t)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \""+api.URL()+"\"}}]\n"+
		"contexts: [{name: c, context: {cluster: c, namespace: bench}}]\ncurrent-context: c\n"), 0o600))
	var farms []*farmer
	for first := 0; first < n; first += farmSize {
		farms = append(farms, start(t, first, min(farmSize, n-first), paths[1], dir))
	}
	for _, f := range farms {
		require.Equal(t, "ready", f.says(), "farm of %d", f.first)
	}
	for i := range n {
		api.Set(pod(i))
	}

	cmd := exec.Command(filepath.Join(os.Getenv("MUSTER_BIN"), "agent"), "run", "--workers="+strconv.Itoa(n), "--job=bench", "--transport=network",
		"--key-file="+paths[0], "--kubeconfig="+kubeconfig, "--framework=plain", "--preflight=off", "--", "sh", "-c", fmt.Sprintf("echo begun; exec sleep %d", 5+n/250)) // until the last one has begun
	cmd.Env = append(os.Environ(), names.EnvDir+"="+filepath.Join(dir, "l"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var words strings.Builder
	cmd.Stderr = &words
	began := time.Now()
	require.NoError(t, cmd.Start())
	lines := 0
	var last time.Duration
	memory := uint64(0)
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if strings.HasSuffix(scan.Text(), "begun") {
			if lines++; lines == n {
				last = time.Since(began)
				memory = rss(t, cmd.Process.Pid)
			}
		}
	}
	_ = cmd.Wait()
	whole := time.Since(began)
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d workers: last first line %.2f s, whole run %.2f s; launcher: %.0f MB then, %.0f MB at most, %.1f s of CPU; %d API requests, %d of them exec",
		n, last.Seconds(), whole.Seconds(), float64(memory)/1e6, float64(usage.Maxrss)/1e3, float64(usage.Utime.Nano()+usage.Stime.Nano())/1e9, len(api.Requests()), execs(api))
	t.Log(words.String())
	require.Zero(t, cmd.ProcessState.ExitCode())
	require.Equal(t, n, lines)
	for _, f := range farms {
		require.Equal(t, "over", f.says(), "farm of %d", f.first)
	}
	for _, f := range farms {
		f.stdin.Close()
	}
}

func execs(api *fakekube.Server) (n int) {
	for _, r := range api.Requests() {
		if strings.HasSuffix(r.Path, "/exec") {
			n++
		}
	}
	return n
}

type farmer struct {
	first int
	stdin io.Closer
	lines *bufio.Scanner
}

func (f *farmer) says() string {
	f.lines.Scan()
	return f.lines.Text()
}

func start(t *testing.T, first, count int, key, dir string) *farmer {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s %s", farmVariable, first, count, key, dir), "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &farmer{first: first, stdin: stdin, lines: bufio.NewScanner(stdout)}
}

func pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Namespace: "bench", UID: types.UID(uidOf(i)), CreationTimestamp: metav1.Now(),
			Labels: map[string]string{names.LabelJob: "bench", names.LabelRole: names.RoleWorker, names.LabelIndex: strconv.Itoa(i)}},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i/8), Containers: []corev1.Container{{Name: "worker", Image: "image"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addressOf(i),
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", Ready: true, ContainerID: "containerd://" + podName(i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
}

// rss returns the resident memory of a process in bytes.
func rss(t *testing.T, pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	pages, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return pages * uint64(os.Getpagesize())
}

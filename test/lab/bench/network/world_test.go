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

// world is an API server, and farms that wait for the launcher of one job.
type world struct {
	t     *testing.T
	n     int // workers
	dir   string
	key   string // file of the launcher's key
	api   *fakekube.Server
	farms []*farmer
}

func newWorld(t *testing.T, n int) *world {
	dir, err := os.MkdirTemp("", "muster")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	paths, err := secure.WritePair(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	w := &world{t: t, n: n, dir: dir, key: paths[0], api: fakekube.New(t)}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \""+w.api.URL()+"\"}}]\n"+
		"contexts: [{name: c, context: {cluster: c, namespace: bench}}]\ncurrent-context: c\n"), 0o600))
	for first := 0; first < n; first += farmSize {
		w.farms = append(w.farms, start(t, first, min(farmSize, n-first), paths[1], dir))
	}
	for _, f := range w.farms {
		require.Equal(t, "ready", f.says(), "farm of %d", f.first)
	}
	for i := range n {
		w.api.Set(pod(i))
	}
	return w
}

// outcome is what one run took.
type outcome struct {
	began  time.Time
	whole  time.Duration
	then   uint64 // bytes of the launcher's resident memory when mark was called
	most   uint64 // the most of them
	cpu    time.Duration
	code   int
	words  string
	cmd    *exec.Cmd
	memory func()
}

// run runs a shell script on each worker, and calls each for each line of output.
func (w *world) run(script string, each func(o *outcome, line string, at time.Time), flags ...string) *outcome {
	t := w.t
	args := append([]string{"run", "--workers=" + strconv.Itoa(w.n), "--job=bench", "--transport=network", "--key-file=" + w.key,
		"--kubeconfig=" + filepath.Join(w.dir, "kubeconfig"), "--framework=plain", "--preflight=off"}, flags...)
	cmd := exec.Command(filepath.Join(os.Getenv("MUSTER_BIN"), "agent"), append(args, "--", "sh", "-c", script)...)
	cmd.Env = append(os.Environ(), names.EnvDir+"="+filepath.Join(w.dir, "l"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var words strings.Builder
	cmd.Stderr = &words
	o := &outcome{cmd: cmd, began: time.Now()}
	o.memory = func() { o.then = rss(t, cmd.Process.Pid) }
	require.NoError(t, cmd.Start())
	for scan := bufio.NewScanner(out); scan.Scan(); {
		each(o, scan.Text(), time.Now())
	}
	_ = cmd.Wait()
	o.whole, o.code, o.words = time.Since(o.began), cmd.ProcessState.ExitCode(), words.String()
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	o.most, o.cpu = uint64(usage.Maxrss)<<10, time.Duration(usage.Utime.Nano()+usage.Stime.Nano())
	t.Log(o.words)
	return o
}

// over waits until all workers were told that the job is over, and ends the farms. It returns the most
// memory of a farm in bytes.
func (w *world) over() (most uint64) {
	for _, f := range w.farms {
		require.Equal(w.t, "over", f.says(), "farm of %d", f.first)
	}
	for _, f := range w.farms {
		most = max(most, rss(w.t, f.pid))
		f.stdin.Close()
	}
	return most
}

// sizes plays test for each of SIZES.
func sizes(t *testing.T, test func(t *testing.T, n int)) {
	for size := range strings.SplitSeq(os.Getenv("SIZES"), ",") {
		n, err := strconv.Atoi(size)
		require.NoError(t, err, "SIZES=1000,10000")
		t.Run(size, func(t *testing.T) { test(t, n) })
	}
}

// until is how long ranks run, in seconds, so that the last of n has begun before the first one ends.
func until(n int) int { return 5 + n/250 }

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
	pid   int
	stdin io.WriteCloser
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
	return &farmer{first: first, pid: cmd.Process.Pid, stdin: stdin, lines: bufio.NewScanner(stdout)}
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

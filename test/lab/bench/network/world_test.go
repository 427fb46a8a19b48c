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
const farmSize = 25

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
	keys  string // of the workers
	farms []*farmer
	heard func(line string) // gets what the launcher says; nil: nobody
}

func newWorld(t *testing.T, n int) *world {
	dir, err := os.MkdirTemp("/dev/shm", "muster") // a disk would take long for so many sockets
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	paths, err := secure.WritePair(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	w := &world{t: t, n: n, dir: dir, key: paths[0], keys: paths[1], api: fakekube.New(t)}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \""+w.api.URL()+"\"}}]\n"+
		"contexts: [{name: c, context: {cluster: c, namespace: bench}}]\ncurrent-context: c\n"), 0o600))
	w.farms = append(w.farms, w.start(0, 1, 0)) // a relay by itself, if there are relays
	for first := 1; first < n; first += farmSize {
		w.farms = append(w.farms, w.start(first, min(farmSize, n-first), 0))
	}
	for _, f := range w.farms {
		w.ready(f)
	}
	return w
}

// ready waits until the workers of a farm listen, and then shows their pods.
func (w *world) ready(f *farmer) {
	require.Equal(w.t, "ready", f.says(), "farm of %d", f.first)
	for i := range f.count {
		w.api.Set(pod(f.first+i, f.life))
	}
}

// kill kills the processes of farms, and starts new containers in their pods.
func (w *world) kill(farms []*farmer) {
	for i, f := range farms {
		require.NoError(w.t, f.cmd.Process.Kill())
		_ = f.cmd.Wait()
		farms[i] = w.start(f.first, f.count, f.life+1)
	}
	for _, f := range farms {
		w.ready(f)
	}
}

// farmOf returns the farm of a worker.
func (w *world) farmOf(i int) *farmer {
	if i == 0 {
		return w.farms[0]
	}
	return w.farms[1+(i-1)/farmSize]
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
	// With thousands of workers on its machine, the launcher would wait longest for a processor.
	args = append([]string{"-n", "-10", filepath.Join(os.Getenv("MUSTER_BIN"), "agent")}, args...)
	cmd := exec.Command("nice", append(args, "--", "sh", "-c", script)...)
	cmd.Env = append(os.Environ(), names.EnvDir+"="+filepath.Join(w.dir, "l"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout // one goroutine reads both
	var words strings.Builder
	o := &outcome{cmd: cmd, began: time.Now()}
	o.memory = func() { o.then = rss(t, cmd.Process.Pid) }
	require.NoError(t, cmd.Start())
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if !strings.HasPrefix(scan.Text(), "agent: ") && !strings.HasPrefix(scan.Text(), "hint: ") {
			each(o, scan.Text(), time.Now())
			continue
		}
		words.WriteString(scan.Text() + "\n")
		if w.heard != nil {
			w.heard(scan.Text())
		}
	}
	_ = cmd.Wait()
	o.whole, o.code, o.words = time.Since(o.began), cmd.ProcessState.ExitCode(), words.String()
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	o.most, o.cpu = uint64(usage.Maxrss)<<10, time.Duration(usage.Utime.Nano()+usage.Stime.Nano())
	t.Log(o.words)
	return o
}

// hears returns a shell script that reads what say says.
func (w *world) hears(script string) string { return "exec <" + w.dir + "/clock-$RANK; " + script }

// say sends a word to all ranks.
func (w *world) say(word string) { w.tell("say " + word) }

// tell sends a line to all farms.
func (w *world) tell(line string) {
	for _, f := range w.farms {
		_, err := fmt.Fprintln(f.stdin, line)
		require.NoError(w.t, err)
	}
}

// over waits until all workers were told that the job is over, and ends the farms. It returns the most
// memory in bytes of the first worker, which is a relay, and of a farm.
func (w *world) over() (relay, farm uint64) {
	for _, f := range w.farms {
		require.Equal(w.t, "over", f.says(), "farm of %d", f.first)
	}
	for i, f := range w.farms {
		farm = max(farm, most(w.t, f.cmd.Process.Pid))
		if i == 0 {
			relay = farm
		}
		f.stdin.Close()
	}
	return relay, farm
}

// sizes plays test for each of SIZES.
func sizes(t *testing.T, test func(t *testing.T, n int)) {
	for size := range strings.SplitSeq(os.Getenv("SIZES"), ",") {
		n, err := strconv.Atoi(size)
		require.NoError(t, err, "SIZES=1000,10000")
		t.Run(size, func(t *testing.T) { test(t, n) })
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
	first, count int
	life         int // how many farms of the same workers came before
	cmd          *exec.Cmd
	stdin        io.WriteCloser
	lines        *bufio.Scanner
}

func (f *farmer) says() string {
	f.lines.Scan()
	return f.lines.Text()
}

func (w *world) start(first, count, life int) *farmer {
	t := w.t
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s %s", farmVariable, first, count, w.keys, w.dir), "GOMAXPROCS=1")
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
	return &farmer{first, count, life, cmd, stdin, bufio.NewScanner(stdout)}
}

// pod is a worker whose container was restarted so many times.
func pod(i, restarts int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Namespace: "bench", UID: types.UID(uidOf(i)), CreationTimestamp: metav1.Now(),
			Labels: map[string]string{names.LabelJob: "bench", names.LabelRole: names.RoleWorker, names.LabelIndex: strconv.Itoa(i)}},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i/8), Containers: []corev1.Container{{Name: "worker", Image: "image"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addressOf(i),
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", Ready: true, RestartCount: int32(restarts), ContainerID: fmt.Sprintf("containerd://%s-%d", podName(i), restarts), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
}

// rss returns the resident memory of a process in bytes, and most the most of it so far.
func rss(t *testing.T, pid int) uint64  { return memory(t, pid, "VmRSS:") }
func most(t *testing.T, pid int) uint64 { return memory(t, pid, "VmHWM:") }

func memory(t *testing.T, pid int, field string) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), field)
	var kilobytes uint64
	_, err = fmt.Sscan(rest, &kilobytes)
	require.NoError(t, err)
	return kilobytes << 10
}

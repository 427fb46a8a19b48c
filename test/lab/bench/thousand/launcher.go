//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/program"
)

// launcher is `agent run`, as a process of this machine.
type launcher struct {
	cmd    *exec.Cmd
	began  time.Time
	gate   *os.File // a FIFO; the ranks wait for its end
	report string
	words  string // path of its stderr
	lines  chan line
	ended  chan error
	last   atomic.Pointer[program.Usage] // at most a fifth of a second old
}

// line is a line of the launcher's standard output.
type line struct {
	rank int
	kind string // begun or line
	seq  int
	said time.Time // when the rank wrote it
	came time.Time // when it arrived here
}

// gatePath returns the path of the FIFO that the ranks read. A lock on a file would be slower: with thousands of
// waiters, the kernel compares each with all others.
func (w *world) gatePath() string { return filepath.Join(w.Dir, "gate") }

// launch starts `agent run` on the first size pods. verb is the argument for
// the program in the pods. The ranks wait for release.
func (w *world) launch(size int, verb string) (l *launcher, err error) {
	l = &launcher{report: filepath.Join(w.Dir, "report.json"), words: filepath.Join(w.Dir, "launcher.log"), lines: make(chan line, 1<<16), ended: make(chan error, 1)}
	path := w.gatePath()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	if l.gate, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	words, err := os.Create(l.words)
	if err != nil {
		return nil, err
	}
	defer words.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	argv := []string{"run", "--workers=" + strconv.Itoa(size), "--selector=" + sizeLabel(size) + "=true", "--kubeconfig=" + w.access,
		"--worker-agent=" + names.AgentPath, "--framework=plain", "--report=" + l.report, "--timeout=2m", "--", w.pod, verb, path}
	l.cmd = exec.Command(filepath.Join(w.bin, "agent"), argv...)
	l.cmd.Stdout, l.cmd.Stderr = in, words
	l.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "MUSTER_") || strings.HasPrefix(kv, "KUBE") }),
		names.EnvDir+"="+filepath.Join(w.Dir, "l"))
	l.began = time.Now()
	if err := startBound(l.cmd, l.ended); err != nil {
		return nil, errors.Join(err, out.Close(), l.gate.Close())
	}
	go l.read(out)
	go l.watch()
	return l, nil
}

// watch samples the launcher's usage until the process is gone. During exec, and after its
// end, a process has no memory to report.
func (l *launcher) watch() {
	for {
		used, err := program.UsageOf(l.cmd.Process.Pid)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			l.last.Store(&used)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// read adds the time of arrival to each line, until all writers have closed the pipe.
func (l *launcher) read(out *os.File) {
	defer close(l.lines)
	defer out.Close()
	buffer, came := bufio.NewReaderSize(out, 64<<10), time.Now()
	for {
		if buffer.Buffered() == 0 {
			if _, err := buffer.Peek(1); err != nil {
				return
			}
			came = time.Now()
		}
		text, err := buffer.ReadSlice('\n')
		if err != nil {
			return
		}
		if one, ok := parseLine(text); ok {
			one.came = came
			l.lines <- one
		}
	}
}

// parseLine reads "  3: begun NANOSECONDS" or "  3: line 17 NANOSECONDS".
func parseLine(text []byte) (l line, ok bool) {
	tag, rest, found := bytes.Cut(text, []byte(": "))
	words := strings.Fields(string(rest))
	rank, err := strconv.Atoi(strings.TrimSpace(string(tag)))
	if !found || err != nil || len(words) < 2 {
		return l, false
	}
	nanos, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err != nil {
		return l, false
	}
	l = line{rank: rank, kind: words[0], said: time.Unix(0, nanos)}
	if len(words) == 3 {
		l.seq, err = strconv.Atoi(words[1])
	}
	return l, err == nil
}

// allBegun waits until every rank's first line has arrived, and returns when the last one
// did.
func (l *launcher) allBegun(ctx context.Context, size int) (last time.Time, err error) {
	begun := map[int]bool{}
	for len(begun) < size {
		select {
		case one, ok := <-l.lines:
			if !ok {
				return last, fmt.Errorf("the launcher ended when %d of %d ranks had begun: %w\n%s", len(begun), size, <-l.ended, l.lastWords())
			}
			begun[one.rank], last = true, one.came
		case <-ctx.Done():
			return last, fmt.Errorf("%d of %d ranks have begun: %w\n%s", len(begun), size, ctx.Err(), l.lastWords())
		}
	}
	return last, nil
}

// release lets the ranks end.
func (l *launcher) release() error { return l.gate.Close() }

// wait waits for the launcher to end with 0, and returns its report.
func (l *launcher) wait(ctx context.Context) (r agentReport, err error) {
	select {
	case err = <-l.ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return r, fmt.Errorf("agent run: %w\n%s", err, l.lastWords())
	}
	text, err := os.ReadFile(l.report)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// agentReport holds the fields of --report that are used here.
type agentReport struct {
	WaitMS   int64 `json:"wait_ms"`
	Sessions int   `json:"sessions"`
	Links    int   `json:"links"`
	Redials  int   `json:"redials"`
}

// kill is for a run that has failed.
func (l *launcher) kill() {
	_ = l.cmd.Process.Kill() // it may have ended already
	_ = l.gate.Close()       // already closed if the ranks were released
}

func (l *launcher) usage() (program.Usage, error) { return program.UsageOf(l.cmd.Process.Pid) }

// lastWords returns the end of the launcher's stderr.
func (l *launcher) lastWords() string {
	text, err := os.ReadFile(l.words)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2048):])
}

// played is the number of nodes that the pods are on.
const played = 10

func podName(i int) string { return fmt.Sprintf("w-%d", i) }

func podNames(n int) (list []string) {
	for i := range n {
		list = append(list, podName(i))
	}
	return list
}

// sizeLabel returns the label of the pods for a run of size workers: the first ones.
func sizeLabel(size int) string { return fmt.Sprintf("muster.dev/bench-%d", size) }

// populate creates the nodes, with the farm as their kubelet, and the pods, and waits until all
// pods run. They are used for all sizes and rounds.
func (w *world) populate(ctx context.Context, sizes []int, most int, log string) error {
	var nodes []*corev1.Node
	for i := range played {
		node := kwok.Node(i)
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: w.kubelet.IP.String()}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(w.kubelet.Port)
		nodes = append(nodes, node)
	}
	stop, err := kwok.Play(ctx, w.Client, nodes, log)
	w.Later("stop simulated nodes", stop)
	if err != nil {
		return err
	}
	// Registered after the nodes' cleanup, so that it runs before it: kwok has to remove the pods.
	if err := w.admit(ctx, most); err != nil {
		return err
	}
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range most {
		group.Go(func() error {
			if err := w.Client.Create(making, workerPod(i, sizes)); err != nil {
				return fmt.Errorf("create pod: %w", err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return w.awaitPods(ctx, most)
}

// workerPod returns worker i's pod. It names its node itself, because scheduling is not
// measured.
func workerPod(i int, sizes []int) *corev1.Pod {
	labels := map[string]string{names.LabelJob: "thousand", names.LabelRole: "worker"}
	for _, size := range sizes {
		if i < size {
			labels[sizeLabel(size)] = "true"
		}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName(i), Namespace: space, Labels: labels},
		Spec: corev1.PodSpec{NodeName: kwok.Node(i % played).Name, Containers: []corev1.Container{{
			Name: "worker", Image: "localhost/muster-mpi:dev", Command: []string{names.AgentPath, "worker"}}},
			Tolerations: []corev1.Toleration{{Key: kwok.Played, Operator: corev1.TolerationOpExists}}}}
}

func (w *world) awaitPods(ctx context.Context, most int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return await.Until(ctx, time.Second, "pods", func() (bool, error) {
		var list corev1.PodList
		err := w.Client.List(ctx, &list, client.InNamespace(space))
		running := 0
		for _, pod := range list.Items {
			if pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running == most {
			return true, nil
		}
		return false, errors.Join(err, fmt.Errorf("%d of %d run", running, most))
	})
}

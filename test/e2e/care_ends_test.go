//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podEnd is the end of a pod.
type podEnd struct {
	pod   corev1.Pod                       // its last state
	state *corev1.ContainerStateTerminated // of its first container; nil if it was not seen
	until time.Time                        // when the kubelet kills it; zero if it was not told to stop
	over  bool
}

// logText is the log of a pod.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// endWatch watches the current pods of a job until they end, and collects their output. It keeps both after the
// pods are deleted.
type endWatch struct {
	s     *space
	names []string
	mu    sync.Mutex
	ends  map[types.UID]*podEnd
	moved chan struct{} // something has changed
	logs  map[string]*logText
	texts sync.WaitGroup // writers of logs
}

// watchEnds starts to watch the pods of the job.
func (s *careSpace) watchEnds(job string, c careCell) *endWatch {
	s.t.Helper()
	w := &endWatch{s: s.space, ends: map[types.UID]*podEnd{}, moved: make(chan struct{}, 1), logs: map[string]*logText{}}
	want := c.workers
	if !c.member {
		want++
	}
	var list corev1.PodList
	require.Eventually(s.t, func() bool { // the API server may not know yet that a container runs, and then returns no log of it
		list = corev1.PodList{}
		s.read(&list, "get", "pods", "-l", "muster.dev/job="+job)
		return !slices.ContainsFunc(list.Items, func(p corev1.Pod) bool {
			own := p.Status.ContainerStatuses
			return len(own) == 0 || own[0].State.Waiting != nil
		})
	}, time.Minute, 100*time.Millisecond, "the pods of %s do not run", job)
	require.Len(s.t, list.Items, want)
	ctx, cancel := context.WithCancel(context.Background())
	for _, pod := range list.Items {
		w.ends[pod.UID] = &podEnd{pod: pod}
		w.names = append(w.names, pod.Name)
		text := &logText{}
		w.logs[pod.Name] = text
		cmd := exec.CommandContext(ctx, kube.Path(), "--namespace", s.name, "logs", "-f", pod.Name)
		cmd.Stdout, cmd.Stderr = text, text
		require.NoError(s.t, cmd.Start())
		w.texts.Go(func() { _ = cmd.Wait() }) // the text has kubectl's error, if any
	}
	for name, text := range w.logs { // kubectl may start late, and then reads the log of the pod that replaces this one
		require.Eventually(s.t, func() bool { return text.String() != "" }, time.Minute, 20*time.Millisecond, "%s has no output", name)
	}
	cmd := exec.CommandContext(ctx, kube.Path(), "--namespace", s.name, "get", "pods", "-l", "muster.dev/job="+job,
		"--watch", "--output-watch-events", "-o", "json")
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	var reader sync.WaitGroup
	reader.Go(func() { w.read(json.NewDecoder(out)) })
	s.t.Cleanup(func() {
		cancel()
		reader.Wait()
		_ = cmd.Wait() // we have killed it
		w.texts.Wait()
	})
	return w
}

func (w *endWatch) read(from *json.Decoder) {
	for {
		var event struct {
			Type   string
			Object corev1.Pod
		}
		if from.Decode(&event) != nil {
			return
		}
		w.note(event.Type == "DELETED", event.Object)
	}
}

func (w *endWatch) note(deleted bool, pod corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := w.ends[pod.UID]
	if end == nil {
		return // it replaces one of the watched pods
	}
	end.pod = pod
	if at := pod.DeletionTimestamp; at != nil && end.until.IsZero() { // the final deletion of an ended pod has no grace
		end.until = at.Time
	}
	if list := pod.Status.ContainerStatuses; len(list) > 0 && list[0].State.Terminated != nil {
		end.state = list[0].State.Terminated
	}
	end.over = deleted || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// pods returns the watched pods.
func (w *endWatch) pods() (all []corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range w.ends {
		all = append(all, end.pod)
	}
	return all
}

// wait returns when all pods have ended.
func (w *endWatch) wait(limit time.Duration) (all []podEnd) {
	w.s.t.Helper()
	timeout := time.After(limit)
	for {
		var living []string
		all = nil
		w.mu.Lock()
		for _, end := range w.ends {
			all = append(all, *end)
			if !end.over {
				living = append(living, end.pod.Name)
			}
		}
		w.mu.Unlock()
		if len(living) == 0 {
			return all
		}
		select {
		case <-w.moved:
		case <-timeout:
			w.s.t.Fatalf("after %s these pods are still running: %s", limit, strings.Join(living, ", "))
		}
	}
}

// said returns the output of all pods. It is complete when they have ended.
func (w *endWatch) said() string {
	w.texts.Wait()
	var b strings.Builder
	for _, name := range w.names {
		fmt.Fprintf(&b, "--- %s\n%s", name, w.logs[name])
	}
	return b.String()
}

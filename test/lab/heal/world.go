//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// line is a record that a script printed.
type line struct {
	What    string `json:"heal"`
	Attempt int
	Rank    int
	T       float64 // Unix seconds
	Step    int
	World   int
	Begun   float64 // when the process was started
	Pod     float64 // when the pod's PID 1 was started
	Old     int     // running processes of earlier attempts
	Port    string
	Host    string
}

func (l line) at() time.Time { return time.UnixMicro(int64(l.T * 1e6)) }

// world is one run of a row.
type world struct {
	row    row
	ns     string
	shared string // directory that all pods have
	code   int
	codes  []int // of the members of a job without a launcher
	// struck is the time of the row's event.
	struck  time.Time
	figures map[string]float64

	mu    sync.Mutex
	log   []string
	lines []line
	more  chan struct{} // closed and replaced at each line
}

// play runs a job and its event, until the launcher ends.
func play(ctx context.Context, r row, dir string) (w *world, err error) {
	w = &world{row: r, figures: map[string]float64{}, more: make(chan struct{})}
	if w.shared, err = os.MkdirTemp(dir, "r"); err == nil {
		err = os.Chmod(w.shared, 0o777) // pods run as another user
	}
	if err != nil {
		return nil, err
	}
	if err := w.create(ctx); err != nil {
		return nil, err
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err != nil {
			said, _ := kube.Kubectl(after, w.ns, nil, "get", "pods", "-o", "wide") // best effort: the list explains the error
			err = fmt.Errorf("%w\n%s", err, said)
		}
		_, gone := kube.Kubectl(after, w.ns, nil, "delete", "namespace", w.ns, "--wait=false")
		err = errors.Join(err, gone)
	}()
	running, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { w.follow(running, w.outputPod()) })
	befell := make(chan error, 1)
	beside.Go(func() {
		var err error
		if r.during != nil {
			err = r.during(running, w)
		}
		befell <- err
	})
	var ended []string
	for _, pod := range w.pods() {
		code, terr := kube.Terminated(ctx, w.ns, pod)
		if err = errors.Join(err, terr); terr == nil {
			w.codes, ended = append(w.codes, code), append(ended, pod)
		}
	}
	stop()
	beside.Wait()
	if cause := <-befell; cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	if err != nil {
		return w, err
	}
	w.code = w.codes[0]
	return w, w.readAll(context.WithoutCancel(ctx), ended)
}

// readAll reads the complete output again, because following it may have been interrupted.
func (w *world) readAll(ctx context.Context, pods []string) error {
	w.mu.Lock()
	w.log, w.lines = nil, nil
	w.mu.Unlock()
	for _, pod := range pods {
		text, err := kube.Kubectl(ctx, w.ns, nil, "logs", pod)
		if err != nil {
			return err
		}
		for one := range strings.Lines(text) {
			w.hear(strings.TrimSuffix(one, "\n"))
		}
	}
	return nil
}

// pods returns the pods whose exit codes are the job's.
func (w *world) pods() (list []string) {
	if !w.row.alone {
		return []string{launcher}
	}
	for i := range w.row.size() {
		if !slices.Contains(w.row.never, i) {
			list = append(list, worker(i))
		}
	}
	return list
}

// outputPod returns the pod whose output is the job's.
func (w *world) outputPod() string {
	if w.row.alone {
		return worker(0)
	}
	return launcher
}

// follow reads a pod's output continuously.
func (w *world) follow(ctx context.Context, pod string) {
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, kube.Path(), "--namespace", w.ns, "logs", "--follow", pod)
		out, err := cmd.StdoutPipe()
		if err == nil && cmd.Start() == nil {
			w.mu.Lock()
			w.log, w.lines = nil, nil // the next stream has the output from its beginning
			w.mu.Unlock()
			for s := bufio.NewScanner(out); s.Scan(); {
				w.hear(s.Text())
			}
			_ = cmd.Wait() // the error does not matter: the container is waiting or has ended, or the stream broke
		}
		_ = await.Pause(ctx, 300*time.Millisecond) // the loop checks ctx
	}
}

// hear processes a line of output, which may have a rank as prefix.
func (w *world) hear(text string) {
	var l line
	at := strings.Index(text, `{"heal"`)
	known := at >= 0 && json.Unmarshal([]byte(text[at:]), &l) == nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, text)
	if known {
		w.lines = append(w.lines, l)
	}
	close(w.more)
	w.more = make(chan struct{})
}

// said returns the records of one kind so far.
func (w *world) said(what string) (list []line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		if l.What == what {
			list = append(list, l)
		}
	}
	return list
}

func (w *world) text() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// await waits until f returns true for the output so far.
func (w *world) await(ctx context.Context, f func() bool) error {
	for {
		w.mu.Lock()
		more := w.more
		w.mu.Unlock()
		if f() {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// firstOf returns when the first process of an attempt printed its first line, or zero if none did.
func (w *world) firstOf(attempt int) (first time.Time) {
	for _, l := range w.said("start") {
		if l.Attempt == attempt && (first.IsZero() || l.at().Before(first)) {
			first = l.at()
		}
	}
	return first
}

// old counts the processes of earlier attempts that later attempts found.
func (w *world) old() (n int) {
	for _, l := range w.said("start") {
		n += l.Old
	}
	return n
}

// portsTwice counts the ports that more than one attempt used.
func (w *world) portsTwice() (n int) {
	of := map[string]int{}
	for _, l := range w.said("start") {
		if l.Port == "" {
			continue
		}
		if was, known := of[l.Port]; known && was != l.Attempt {
			n++
		}
		of[l.Port] = l.Attempt
	}
	return n
}

func (w *world) figure(name string, value float64) { w.figures[name] = value }

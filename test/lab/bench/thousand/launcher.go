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

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/test/suite/program"
)

// launcher is `agent run` as a process of this machine.
type launcher struct {
	cmd    *exec.Cmd
	began  time.Time
	gate   *os.File // a FIFO whose end its ranks wait for
	report string
	words  string // path of its stderr
	lines  chan line
	ended  chan error
	last   atomic.Pointer[program.Usage] // a fifth of a second old at most
}

// line is one of its standard output.
type line struct {
	rank int
	kind string // begun, line
	seq  int
	said time.Time // by the rank
	came time.Time // here
}

// gatePath is the FIFO that the ranks read. Thousands that wait for the lock on a file
// would each be compared with all others.
func (w *world) gatePath() string { return filepath.Join(w.Dir, "gate") }

// launch starts `agent run` on the first so many pods; verb is for
// the program in the pods. Its ranks wait for release.
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

// watch looks at what the launcher uses until it is no more. In exec, and once it has
// ended, a process has no memory to tell of.
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

// read stamps lines when they come. It goes on until nobody writes any more.
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

// allBegun waits until every rank's first line is here, and returns when the last of
// them came.
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

// release lets the ranks go on.
func (l *launcher) release() error { return l.gate.Close() }

// wait gives the launcher's own report when it has ended with 0.
func (l *launcher) wait(ctx context.Context) (t told, err error) {
	select {
	case err = <-l.ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return t, fmt.Errorf("agent run: %w\n%s", err, l.lastWords())
	}
	text, err := os.ReadFile(l.report)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}

// told is what we read of --report.
type told struct {
	WaitMS   int64 `json:"wait_ms"`
	Sessions int   `json:"sessions"`
	Links    int   `json:"links"`
	Redials  int   `json:"redials"`
}

// kill is for a run that has failed.
func (l *launcher) kill() {
	_ = l.cmd.Process.Kill() // it may have ended
	_ = l.gate.Close()       // closed before, where the ranks were let go on
}

func (l *launcher) usage() (program.Usage, error) { return program.UsageOf(l.cmd.Process.Pid) }

// lastWords is the end of its stderr.
func (l *launcher) lastWords() string {
	text, err := os.ReadFile(l.words)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2048):])
}

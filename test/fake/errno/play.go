//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/proc"
)

// Ways in which a run ends, from good to bad.
const (
	never  = "-"
	fine   = "ok"
	failed = "fails"
	crash  = "crash"
	panics = "PANIC"
	alive  = "ALIVE"
	hang   = "HANG"
	false0 = "FALSE0"
	left   = "LEFT"
)

var ends = []string{never, fine, failed, crash, panics, alive, left, hang, false0}

// result is how a run ended.
type result struct {
	Cell    cell    `json:"cell"`
	End     string  `json:"end"`
	Code    int     `json:"code"`
	Faults  int     `json:"faults"` // calls that were made to fail
	Seconds float64 `json:"seconds"`
	Exit    string  `json:"exit,omitempty"`  // the role's own code, if strace saw it
	Words   string  `json:"words,omitempty"` // the last line that was printed
	out     string
}

// player plays runs.
type player struct {
	bin, dir string
	self     string // this program
	limit    time.Duration
}

// stage is the place of one run.
type stage struct {
	cell
	*player
	dir   string // of this run
	trace string // strace's log
	mark  string // NAME=VALUE in the environment of every process of the run
}

const markName = "ERRNO_RUN"

// play plays one run and removes all that it left.
func (p *player) play(ctx context.Context, c cell) (r result, err error) {
	dir, err := os.MkdirTemp(p.dir, "r")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s := &stage{cell: c, player: p, dir: dir, trace: filepath.Join(dir, "trace"), mark: markName + "=" + filepath.Base(dir)}
	defer proc.Wipe(s.mark)
	began := time.Now()
	job, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	var out string
	var code int
	switch c.Role {
	case "barrier":
		out, code, err = s.gather(job)
	case "broker":
		out, code, err = s.serve(job)
	default:
		out, code, err = s.launch(job)
	}
	if err != nil || ctx.Err() != nil {
		return r, errors.Join(err, ctx.Err())
	}
	r = result{Cell: c, Code: code, Seconds: time.Since(began).Seconds(), out: out}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	r.Words = lines[len(lines)-1]
	if job.Err() != nil {
		r.End = hang
		return r, nil
	}
	cleared := s.cleared(ctx)                             // strace too: its log is whole
	trace, _ := os.ReadFile(s.trace)                      // missing: never traced
	log, _ := os.ReadFile(filepath.Join(dir, "log"))      // of a fake worker
	said := append(append(trace, log...), []byte(out)...) // a role that cannot write says nothing but to strace
	r.Faults = bytes.Count(trace, []byte("(INJECTED)"))
	if found := exitCode.FindSubmatch(trace); found != nil {
		r.Exit = string(found[1])
	}
	switch missing := s.missing(out); {
	case code == 0 && missing != "":
		r.End, r.Words = false0, missing
	case !cleared:
		r.End = left
	case r.Faults == 0 && code == 0 && c.Moment != processes:
		r.End = never
	case bytes.Contains(said, []byte("panic: ")):
		r.End = panics
	case c.deaf() && r.Exit != "70":
		r.End = alive
	case r.Exit == "2":
		r.End = crash
	case code == 0:
		r.End = fine
	default:
		r.End = failed
	}
	return r, nil
}

// deaf reports whether the fault ends the serving of PID 1 for good.
func (c cell) deaf() bool { return c.Role == "pid1" && c.Call == "accept" && c.Errno == "EIO" }

var exitCode = regexp.MustCompile(`exit_group\((\d+)`)

// missing says which part of the job's work was not done; "": none.
func (s *stage) missing(out string) string {
	for i := range 2 {
		if _, err := os.Stat(filepath.Join(s.dir, fmt.Sprintf("done-%d", i))); err != nil {
			return fmt.Sprintf("no file of rank %d", i)
		}
		if !strings.Contains(out, fmt.Sprintf("output of %d", i)) {
			return fmt.Sprintf("no output of rank %d", i)
		}
	}
	return ""
}

// start starts a program of the run; what it prints goes to a file.
func (s *stage) start(name string, words, env []string) (*exec.Cmd, error) {
	out, err := os.Create(filepath.Join(s.dir, "out-"+name))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.dir, "TMPDIR=" + s.dir, "SHARED=" + s.dir,
		"MUSTER_DIR=" + filepath.Join(s.dir, "m"+name), "AGENT=" + filepath.Join(s.bin, "agent"), s.mark}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return cmd, nil
}

// end waits for a program; after the limit it is killed. It returns the exit code,
// 128+n for a signal, and what was printed.
func (s *stage) end(ctx context.Context, name string, cmd *exec.Cmd) (out string, code int) {
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	_ = cmd.Wait() // the state says it
	text, _ := os.ReadFile(filepath.Join(s.dir, "out-"+name))
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return string(text), 128 + int(ws.Signal())
	}
	return string(text), ws.ExitStatus()
}

// traced returns a command line whose own process gets the faults.
func (s *stage) traced(words ...string) []string {
	if s.Moment == processes {
		return append([]string{s.self, denied, s.Errno}, words...)
	}
	return slices.Concat([]string{"strace", "-DDD", "-f", "-b", "execve", "-qq", "-o", s.trace}, s.inject(), words)
}

// cleared waits until no process of the run is left.
func (s *stage) cleared(ctx context.Context) bool {
	for end := time.Now().Add(s.limit); time.Now().Before(end) && ctx.Err() == nil; {
		if len(proc.Marked(s.mark)) == 0 {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

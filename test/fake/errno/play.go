//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/proc"
)

// Ends of a run, from good to bad.
const (
	never  = "-"
	fine   = "ok"
	failed = "fails"
	crash  = "crash"
	waits  = "waits"
	panics = "PANIC"
	alive  = "ALIVE"
	hang   = "HANG"
	false0 = "FALSE0"
	left   = "LEFT"
)

var ends = []string{never, fine, failed, crash, waits, panics, alive, left, hang, false0}

// result is how a run ended.
type result struct {
	Cell    cell    `json:"cell"`
	End     string  `json:"end"`
	Code    int     `json:"code"`
	Faults  int     `json:"faults"` // calls that failed because of the fault
	Seconds float64 `json:"seconds"`
	Exit    string  `json:"exit,omitempty"`  // the role's exit code, if strace saw it
	Words   string  `json:"words,omitempty"` // the last line of the output
	out     string
}

// player plays runs.
type player struct {
	bin, dir string
	self     string // this program
	limit    time.Duration
}

// stage is the environment of one run.
type stage struct {
	cell
	*player
	dir   string // of this run
	trace string // strace's log
	mark  string // NAME=VALUE in the environment of every process of the run
}

const markName = "ERRNO_RUN"

// play plays one run and removes everything that it left.
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
		trace, _ := os.ReadFile(s.trace) // missing if nothing was traced
		r.End, r.Faults = hang, faultsIn(trace)
		if c.Call == "write" && c.Errno == "EAGAIN" && waitsForRoom(trace) {
			r.End = waits
		}
		return r, nil
	}
	cleared := s.cleared(ctx)                             // strace has ended too, so its log is complete
	trace, _ := os.ReadFile(s.trace)                      // missing if nothing was traced
	log, _ := os.ReadFile(filepath.Join(dir, "log"))      // of a fake worker
	said := append(append(trace, log...), []byte(out)...) // if a role cannot write, only strace's log has its messages
	r.Faults = faultsIn(trace)
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

func faultsIn(trace []byte) int { return bytes.Count(trace, []byte("(INJECTED)")) }

// deaf reports whether the fault permanently stops PID 1 from accepting connections.
func (c cell) deaf() bool { return c.Role == "pid1" && c.Call == "accept" && c.Errno == "EIO" }

var exitCode = regexp.MustCompile(`exit_group\((\d+)`)

// missing returns the part of the job's work that was not done, or "".
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

// start starts a program of the run. Its output goes to a file.
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

// end waits for a program, and kills it when ctx ends. It returns the output and the exit code, 128+n for a signal.
func (s *stage) end(ctx context.Context, name string, cmd *exec.Cmd) (out string, code int) {
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	_ = cmd.Wait() // the state has the result
	text, _ := os.ReadFile(filepath.Join(s.dir, "out-"+name))
	return string(text), proc.Code(cmd.ProcessState)
}

// traced returns a command line in which words[0] gets the faults.
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

// work is what rank $1 does.
const work = `echo "output of $1"; sleep ${LONG:-0.1}; echo done > "$SHARED/done-$1"`

// common has the launcher's flags. The limits are short, so that a job that cannot continue fails soon.
var common = []string{"run", "--fake", "2", "--timeout", "12s", "--hopeless-after", "5s", "--lease", "10s", "--grace", "2s"}

// launch plays a job whose ranks are started by the launcher. The launcher gets the faults from its start, or PID 1
// of the first worker does. PID 1's link is cut while its rank runs, so that it must accept a connection again.
func (s *stage) launch(ctx context.Context) (string, int, error) {
	launcher, err := s.binaries(s.Role == "pid1")
	if err != nil {
		return "", 0, err
	}
	words := append([]string{launcher}, common...)
	words = append(words, "--framework=plain", "--", "sh", "-c", `set -- $RANK; `+work)
	var env []string
	if s.Role == "pid1" {
		words, env = slices.Insert(words, 1, "--fake-fault", "drop after=100ms worker=0"), []string{"LONG=0.6"}
	} else {
		words = s.traced(words...)
	}
	cmd, err := s.start("launcher", words, env)
	if err != nil {
		return "", 0, err
	}
	out, code := s.end(ctx, "launcher", cmd)
	return out, code, nil
}

// binaries links agent and agent-launcher into the run's directory. If faulty is set, the agent there traces PID 1
// of the first fake worker.
func (s *stage) binaries(faulty bool) (launcher string, err error) {
	dir := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	launcher = filepath.Join(dir, "agent-launcher")
	if err := os.Link(filepath.Join(s.bin, "agent-launcher"), launcher); err != nil {
		return "", err
	}
	agent := filepath.Join(dir, "agent")
	if !faulty {
		return launcher, os.Link(filepath.Join(s.bin, "agent"), agent)
	}
	real := filepath.Join(s.bin, "agent")
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1/$MUSTER_WORKER" = worker/127.0.0.2 ]; then
	ln -L /proc/self/fd/2 "$SHARED/log"
	exec %s "$@"
fi
exec %s "$@"
`, strings.Join(s.traced(real), " "), real)
	return launcher, os.WriteFile(agent, []byte(script), 0o755)
}

// serve plays a job whose command calls agent rsh. The launcher gets the faults when the command runs.
func (s *stage) serve(ctx context.Context) (string, int, error) {
	launcher, err := s.binaries(false)
	if err != nil {
		return "", 0, err
	}
	const script = `set -e
		echo > "$SHARED/ready"; until [ -e "$SHARED/go" ]; do sleep 0.02; done
		"$AGENT" rsh 127.0.0.2 "set -- 0; $WORK" & first=$!
		"$AGENT" rsh 127.0.0.3 "set -- 1; $WORK"
		wait $first`
	words := append([]string{launcher}, common...)
	cmd, err := s.start("launcher", append(words, "--", "sh", "-c", script),
		[]string{"WORK=SHARED=" + s.dir + "; " + work})
	if err != nil {
		return "", 0, err
	}
	tracer, err := s.attach(ctx, cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return "", 0, err
	}
	out, code := s.end(ctx, "launcher", cmd)
	_ = tracer.Wait() // strace ends with the launcher
	return out, code, nil
}

// attach waits until the command is ready, traces the running process, and lets the command continue.
func (s *stage) attach(ctx context.Context, pid int) (*exec.Cmd, error) {
	if err := await.Until(ctx, 10*time.Millisecond, "the command", func() (bool, error) { _, err := os.Stat(filepath.Join(s.dir, "ready")); return err == nil, nil }); err != nil {
		return nil, err
	}
	tracer := exec.Command("strace", append([]string{"-f", "-b", "execve", "-o", s.trace, "-p", strconv.Itoa(pid)}, s.inject()...)...)
	said, err := os.Create(filepath.Join(s.dir, "strace"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	tracer.Stderr = said
	if err := tracer.Start(); err != nil {
		return nil, fmt.Errorf("start strace: %w", err)
	}
	err = await.Until(ctx, 10*time.Millisecond, "strace", func() (bool, error) {
		text, _ := os.ReadFile(said.Name())
		return bytes.Contains(text, []byte("attached")), nil
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o644)
	}
	if err != nil {
		_ = tracer.Process.Kill()
		_ = tracer.Wait()
	}
	return tracer, err
}

// gather plays a job without a launcher, whose rank 0 gets the faults. The code is the worse one of both members,
// so 0 means that both members exited with 0.
func (s *stage) gather(ctx context.Context) (string, int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", 0, err
	}
	agent := filepath.Join(s.bin, "agent")
	var cmds []*exec.Cmd
	for rank := range 2 {
		if err := os.Mkdir(filepath.Join(s.dir, fmt.Sprintf("m%d", rank)), 0o700); err != nil {
			return "", 0, err
		}
		words := []string{agent, "join", "--workers=2", "--rank=" + strconv.Itoa(rank), "--coordinator=" + address, "--timeout=12s",
			"--lease=24s", "--grace=2s", "--framework=plain", "--", "sh", "-c", `set -- $RANK; ` + work}
		if rank == 0 {
			words = s.traced(words...)
		}
		cmd, err := s.start(strconv.Itoa(rank), words, []string{"MUSTER_TOKEN=0123456789abcdef-of-a-test", "MUSTER_TERMINATION_LOG="})
		if err != nil {
			for _, cmd := range cmds {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			return "", 0, err
		}
		cmds = append(cmds, cmd)
	}
	var all strings.Builder
	worst := 0
	for rank, cmd := range cmds {
		out, code := s.end(ctx, strconv.Itoa(rank), cmd)
		all.WriteString(out)
		worst = max(worst, code)
	}
	return all.String(), worst, nil
}

//go:build linux

package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/hangs"
	"github.com/musterhq/muster/test/suite/proc"
)

const (
	// startTime is how long the ranks may take until they are ready.
	startTime = 60 * time.Second
	// settle is how long the ranks work before the event.
	settle = 500 * time.Millisecond
	// margin is how long after its limit a cell counts as hanging.
	margin = 10 * time.Second
	// leaveTime is how long processes may take to disappear from /proc.
	leaveTime = 2 * time.Second
)

// result is the outcome of one cell of the matrix.
type result struct {
	Column  string   `json:"column"`
	Event   string   `json:"event"`
	Bare    bool     `json:"bare"`             // mpirun without Muster
	Cannot  string   `json:"cannot,omitempty"` // why this cell is not possible
	Ended   bool     `json:"ended"`            // by itself, with Code
	Code    int      `json:"code"`
	Hang    bool     `json:"hang"`
	Seconds float64  `json:"seconds"` // from the event to the end
	Named   bool     `json:"named"`   // a line named the worker
	Left    []string `json:"left,omitempty"`
	Faults  []string `json:"faults,omitempty"` // what is wrong; empty for a bare run
	Said    string   `json:"said,omitempty"`   // the line that decided
	output  string
}

// bench holds the settings that all cells share.
type bench struct {
	bin   string // of agent
	dir   string
	crash string // the library of testdata/crash.c
}

// running is a cell in progress.
type running struct {
	bench
	column column
	event  event
	bare   bool
	began  time.Time
	mark   string // NAME=VALUE
	home   string // directory of the cell
	cmd    *exec.Cmd
	out    *proc.Output
	ended  chan struct{}
	err    error
}

// run runs one cell.
func (b bench) run(c column, e event, bare bool) (res result) {
	res = result{Column: c.key, Event: e.key, Bare: bare}
	if e.cannot != nil {
		res.Cannot = e.cannot(c)
	}
	if bare && (e.flags != nil || e.key == "run-term") {
		res.Cannot = "of `agent run` only"
	}
	if res.Cannot != "" {
		return res
	}
	r := &running{bench: b, column: c, event: e, bare: bare, mark: newMark(), out: proc.NewOutput(), ended: make(chan struct{})}
	if err := r.start(); err != nil {
		res.Faults = append(res.Faults, err.Error())
		return res
	}
	defer r.cleanUp()
	at, err := r.reach()
	if err != nil {
		res.Faults = append(res.Faults, err.Error())
		res.output = r.out.String()
		return res
	}
	r.finish(&res, at)
	return res
}

// newMark returns an entry of the environment that is in all processes of one cell.
func newMark() string { return envMark + "=" + rand.Text() }

// start runs the command of the cell.
func (r *running) start() error {
	var err error
	if r.home, err = os.MkdirTemp(r.dir, "c"); err != nil {
		return err
	}
	argv, env, err := r.command()
	if err != nil {
		return err
	}
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = r.home, r.out, r.out
	r.cmd.WaitDelay = leaveTime // remaining processes may hold our pipes
	r.began = time.Now()
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Env = append(env, r.mark)
	if err := r.cmd.Start(); err != nil {
		return err
	}
	go func() {
		r.err = r.cmd.Wait()
		r.out.Close()
		close(r.ended)
	}()
	return nil
}

// command returns the command line and the environment: `agent run` over fake workers, or mpirun by itself.
func (r *running) command() (argv, env []string, err error) {
	env = append(proc.Environment(r.bin, "CONFORM"), r.column.env...)
	if r.event.crash {
		daemon := r.column.daemons[len(r.column.daemons)-1]
		env = append(env, "LD_PRELOAD="+r.crash, "CRASH="+daemon[:min(len(daemon), mostComm)], "CRASH_AT=-"+victim, "CRASH_SAY="+filepath.Join(r.home, calledFile))
	}
	program := r.event.args(r.column)
	if r.bare {
		more, err := r.bareEnv()
		return append([]string{r.column.mpirun}, program...), append(env, more...), err
	}
	env = append(env, "MUSTER_DIR="+r.home)
	if r.event.launch != "" {
		agent, err := r.writeAgent()
		if err != nil {
			return nil, nil, err
		}
		for _, name := range r.column.agents {
			env = append(env, name+"="+agent)
		}
	}
	argv = append([]string{filepath.Join(r.bin, "agent"), "run", fmt.Sprintf("--fake=%d", workers)}, r.event.flags...)
	argv = append(append(argv, "--", r.column.mpirun), program...)
	return argv, env, nil
}

// reach waits until the cell can have its event, causes the event, and returns the event's time.
func (r *running) reach() (time.Time, error) {
	if r.event.launch != "" {
		return r.awaitCall()
	}
	if r.event.stranger != "" {
		return time.Now(), nil
	}
	if err := r.out.Await("ready\n", startTime); err != nil {
		return time.Time{}, err
	}
	ready := time.Now()
	if r.event.strike == nil {
		return ready.Add(r.event.after), nil
	}
	select {
	case <-time.After(settle):
	case <-r.ended:
		return ready, errors.New("the command ended before the event")
	}
	at := time.Now()
	if n := r.event.strike(r); n == 0 {
		return at, errors.New("the event found no process to act on")
	}
	return at, nil
}

// awaitCall waits for the call of the agent that fails.
func (r *running) awaitCall() (time.Time, error) {
	for began := time.Now(); time.Since(began) < startTime; time.Sleep(10 * time.Millisecond) {
		if st, err := os.Stat(filepath.Join(r.home, calledFile)); err == nil {
			return st.ModTime(), nil
		}
	}
	return time.Time{}, errors.New("the agent was not called")
}

// finish waits for the end and judges it.
func (r *running) finish(res *result, at time.Time) {
	within := r.event.within()
	patience := time.NewTimer(time.Until(at.Add(within + margin)))
	defer patience.Stop()
	select {
	case <-r.ended:
		res.Seconds = max(time.Since(at).Seconds(), 0)
		res.Ended, res.Code = true, r.code()
	case <-patience.C:
		res.Hang = true
	}
	for _, p := range proc.Gone(r.mark, leaveTime, func(p proc.Process) bool { return res.Hang || !r.isRun(p) }) {
		res.Left = append(res.Left, p.String())
	}
	res.output = r.out.String()
	res.Said, res.Named = naming(res.output, r.bare, r.event)
	if r.bare {
		return
	}
	fault := func(format string, args ...any) { res.Faults = append(res.Faults, fmt.Sprintf(format, args...)) }
	if dir := os.Getenv("MUSTER_OUT"); dir != "" && !hangs.Asked(r.event.flags) {
		if err := hangs.Note(dir, "conform", r.column.key+" "+r.event.key, time.Since(r.began), res.output); err != nil {
			fault("%v", err)
		}
	}
	switch {
	case res.Hang:
		fault("hangs: still running %s after the event", within+margin)
		return
	case res.Seconds > within.Seconds():
		fault("took %.1f s, more than %s", res.Seconds, within)
	}
	if !r.event.code(res.Code) {
		fault("exit code %d, want %s", res.Code, r.event.codes)
	}
	if _, err := os.Stat(filepath.Join(r.home, calledFile)); r.event.crash && err != nil {
		fault("no daemon crashed")
	}
	if r.event.crash && r.column.calm && res.Code != 0 {
		fault("exit code %d although the run succeeded", res.Code)
	}
	if r.event.named && !res.Named {
		fault("no line names the worker")
	}
	if len(res.Left) > 0 {
		fault("%d processes left: %s", len(res.Left), res.Left[0])
	}
}

func (r *running) code() int {
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) && !errors.Is(r.err, exec.ErrWaitDelay) {
		return -1
	}
	return proc.Code(r.cmd.ProcessState)
}

// cleanUp ends every remaining process of the cell by its pid.
func (r *running) cleanUp() {
	proc.Wipe(r.mark)
	<-r.ended
	_ = os.RemoveAll(r.home) // the bench's directory above it is removed at the end
}

// naming finds the line that names the victim: a line of the agent, or in a bare run a line of mpirun. If no line
// does, it returns the last line of the agent.
func naming(text string, bare bool, e event) (said string, named bool) {
	word := regexp.MustCompile(regexp.QuoteMeta(cmp.Or(e.stranger, victim)) + `\b`)
	if e.all {
		word = regexp.MustCompile(`127\.0\.0\.[234]\b`)
	}
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\n\x00") // Open MPI 5 writes a NUL after its message
		if bare || strings.HasPrefix(line, "agent: ") && !strings.HasPrefix(line, "agent: injecting a fault:") && !strings.Contains(line, " is set and kept in place of ") {
			if word.MatchString(line) {
				return line, true
			}
			said = line
		}
	}
	return said, false
}

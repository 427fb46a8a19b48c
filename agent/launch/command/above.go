//go:build linux

package command

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// Owns reports whether a process belongs to the command of this run. A user may also call `agent
// rsh` by hand beside the run.
func Owns(pid int, run string) bool {
	var env bytes.Buffer
	return reap.Environ(pid, &env) == nil && slices.ContainsFunc(bytes.Split(env.Bytes(), []byte{0}), func(kv []byte) bool {
		return string(kv) == envRun+"="+run
	})
}

// heldMPIRun is an mpirun, with a pidfd that gives its exit code after its end.
type heldMPIRun struct {
	proc reap.Proc
	fd   *reap.Pidfd
}

// mostAbove bounds the number of shells between a remote agent and its mpirun.
const mostAbove = 16

// MPIRunAbove returns the nearest mpirun among the ancestors of a process of the command, or nil.
func MPIRunAbove(pid int) tally.Launcher {
	var buf bytes.Buffer
	for range mostAbove {
		p, err := reap.Stat(pid, &buf)
		switch {
		case err != nil || pid == os.Getpid():
			return nil
		case names.IsMPIRun(p.Comm):
			return heldMPIRun{p, reap.OpenPidfd(pid)}
		}
		pid = p.PPID
	}
	return nil
}

// Name implements tally.Launcher.
func (m heldMPIRun) Name() string { return m.proc.Comm }

// Is implements tally.Launcher.
func (m heldMPIRun) Is(other tally.Launcher) bool {
	o, ok := other.(heldMPIRun)
	return ok && o.proc.PID == m.proc.PID && o.proc.Start == m.proc.Start
}

// Ended implements tally.Launcher.
func (m heldMPIRun) Ended() bool {
	var buf bytes.Buffer
	now, err := reap.Stat(m.proc.PID, &buf)
	return err != nil || now.Start != m.proc.Start || !now.Alive()
}

// Exit implements tally.Launcher.
func (m heldMPIRun) Exit() (code, signal int, known bool) {
	st, known, _ := m.fd.Exit()
	return st.Code, int(st.Signal), known
}

// Kill implements tally.Launcher.
func (m heldMPIRun) Kill() {
	_ = reap.Signal(m.proc, syscall.SIGKILL) // it has just ended
}

// Close implements tally.Launcher.
func (m heldMPIRun) Close() { m.fd.Close() }

// StarterAbove returns the nearest starter among the ancestors of a process of the command, or nil.
// pdsh says that the command itself is pdsh. Only then does pdsh count as a starter: a script may
// call it for other reasons.
func StarterAbove(pid int, pdsh bool) (by tally.Launcher, says framework.Starter) {
	var buf bytes.Buffer
	for range mostAbove {
		p, err := reap.Stat(pid, &buf)
		if err != nil || pid == os.Getpid() {
			break
		}
		argv := argvOf(pid)
		one, found := framework.StarterIn(argv)
		if !found && pdsh && framework.IsProgram(argv, config.Pdsh) {
			one, found = framework.Starter{Name: config.Pdsh}, true
		}
		switch {
		case found && by == nil:
			by, says = heldMPIRun{p, reap.OpenPidfd(pid)}, one
		case found:
			says.Trials = says.Trials || one.Trials
		}
		pid = p.PPID
	}
	return by, says
}

// argvOf returns the arguments of a process, or nil if it has ended.
func argvOf(pid int) (argv []string) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return nil
	}
	for word := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{0}), []byte{0}) {
		argv = append(argv, string(word))
	}
	return argv
}

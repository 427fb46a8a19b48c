//go:build linux

package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// Owns tells whether a process belongs to the command of that run: calls
// of `agent rsh` by hand beside it are their users' affair.
func Owns(pid int, run string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "environ"))
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool {
		return string(kv) == envRun+"="+run
	})
}

// heldMPIRun is an mpirun, of which a pidfd knows the exit code after its end.
type heldMPIRun struct {
	proc reap.Proc
	fd   *reap.Pidfd
}

// mostAbove bounds the shells between a remote agent and its mpirun.
const mostAbove = 16

// MPIRunAbove returns the nearest mpirun above a process of the command, nil for none.
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

// StarterAbove returns the nearest starter above a process of the command, nil for none. pdsh
// is one only where it is the command itself: a script has its own reasons to call it.
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

// argvOf returns the arguments of a process, nil for one that has ended.
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

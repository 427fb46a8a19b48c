//go:build linux

package launch

import (
	"bytes"
	"os"
	"syscall"

	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// heldMPIRun is an mpirun, of which a pidfd knows the exit code after its end.
type heldMPIRun struct {
	proc reap.Proc
	fd   *reap.Pidfd
}

// mostAbove bounds the shells between a remote agent and its mpirun.
const mostAbove = 16

// mpirunAbove returns the nearest mpirun above a process of the command, nil for none.
func mpirunAbove(pid int) tally.Launcher {
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

//go:build linux

package launch

import (
	"bytes"
	"os"
	"syscall"

	"github.com/musterhq/muster/agent/names"
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
func mpirunAbove(pid int) mpirun {
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

func (m heldMPIRun) name() string { return m.proc.Comm }

func (m heldMPIRun) is(other mpirun) bool {
	o, ok := other.(heldMPIRun)
	return ok && o.proc.PID == m.proc.PID && o.proc.Start == m.proc.Start
}

func (m heldMPIRun) ended() bool {
	var buf bytes.Buffer
	now, err := reap.Stat(m.proc.PID, &buf)
	return err != nil || now.Start != m.proc.Start || !now.Alive()
}

func (m heldMPIRun) exit() (code, signal int, known bool) {
	st, known, _ := m.fd.Exit()
	return st.Code, int(st.Signal), known
}

func (m heldMPIRun) kill() {
	_ = reap.Signal(m.proc, syscall.SIGKILL) // it has just ended
}

func (m heldMPIRun) close() { m.fd.Close() }

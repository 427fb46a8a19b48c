//go:build linux

package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// rankVariables hold a rank's number: Open MPI, PMIx, MPICH and Intel MPI.
var rankVariables = [...]string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}

// rankOf reads the number that a rank's MPI gave it; "" when there is none.
func rankOf(pid int) string { return numberIn(pid, rankVariables[:]) }

// numberIn reads the first of some variables that a process has.
func numberIn(pid int, variables []string) string {
	if value := textIn(pid, variables...); len(value) < 20 {
		return value
	}
	return ""
}

// textIn reads the first of some variables that a process has; "" where it has none, or
// cannot be asked.
func textIn(pid int, variables ...string) string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for _, name := range variables {
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if value, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok {
				return string(value)
			}
		}
	}
	return ""
}

// usesMPI says whether a process has an MPI library mapped: libmpi of Open MPI
// and Intel MPI, libmpich of Debian's MPICH. One that is linked statically is
// not recognised.
func usesMPI(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && bytes.Contains(maps, []byte("/libmpi"))
}

// pidfd holds on to a process, which may be no child of ours, beyond its end.
type pidfd struct{ file *os.File }

// openPidfd returns nil where there is none to be had: the process's end is then seen
// only while its parent has not collected it.
func openPidfd(pid int) *pidfd {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return &pidfd{os.NewFile(uintptr(fd), "pidfd")}
}

func (p *pidfd) close() {
	if p != nil {
		_ = p.file.Close() // there is nothing to write
	}
}

// awaitEnd blocks until the process has ended, and returns false when p is closed first.
func (p *pidfd) awaitEnd() bool {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
	return err == nil
}

// exit returns the exit status of the process. Linux 6.15 tells it (PIDFD_INFO_EXIT, in
// include/uapi/linux/pidfd.h); wait says that its parent has not collected it
// yet. Older kernels leave it unknown.
func (p *pidfd) exit() (st reap.Status, known, wait bool) {
	if p == nil {
		return st, false, false
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	conn, err := p.file.SyscallConn()
	if err != nil {
		return st, false, false
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = unix.IoctlPidfdInfo(int(fd), &info) }); err != nil {
		return st, false, false
	}
	if failed != nil {
		return st, false, errors.Is(failed, syscall.EINTR)
	}
	if info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return st, false, true
	}
	return statusOf(syscall.WaitStatus(uint32(info.Exit_code))), true, false
}

// Fields of /proc/PID/stat behind the command's name (proc(5) counts from 1, and
// the name is the second).
const (
	statState = 3 - 3
	statStart = 22 - 3
	statExit  = 52 - 3
)

// zombieOf is the exit status of a process that has ended and that its parent
// has not collected: a shell above a daemon may be slow to.
func zombieOf(key being) (st reap.Status, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", key.pid))
	if err != nil {
		return st, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= statExit || string(fields[statState]) != "Z" || string(fields[statStart]) != fmt.Sprint(key.start) {
		return st, false
	}
	code, err := strconv.ParseUint(string(fields[statExit]), 10, 32)
	if err != nil {
		return st, false
	}
	return statusOf(syscall.WaitStatus(code)), true
}

func statusOf(ws syscall.WaitStatus) reap.Status {
	if ws.Signaled() {
		return reap.Status{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	return reap.Status{Code: ws.ExitStatus()}
}

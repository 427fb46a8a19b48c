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
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for _, name := range variables {
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if value, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok && len(value) < 20 {
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

// openPidfd returns -1 when there is none to be had: then the process's end
// stays unknown.
func openPidfd(pid int) int {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	return fd
}

// exitOf is the exit status of a process that may be no child of ours, through
// a pidfd from before its end. Linux 6.15 tells it (PIDFD_INFO_EXIT, in
// include/uapi/linux/pidfd.h); wait says that its parent has not collected it
// yet. Older kernels leave it unknown.
func exitOf(fd int) (st reap.Status, known, wait bool) {
	if fd < 0 {
		return st, false, false
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(fd, &info); err != nil {
		return st, false, errors.Is(err, syscall.EINTR)
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

//go:build linux && (amd64 || arm64)

package command

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data of the words that the filter reads, on a little-endian machine
// (linux/seccomp.h).
const (
	offNumber = 0
	offArch   = 4
	offPID    = 16
	offPGID   = 24
)

// filterSetpgid protects the processes that this thread starts from a race in Open MPI's launcher.
// For each remote agent that launcher forks, and both parent and child move the child to a process
// group of its own. If the child has reached execve first, the parent's setpgid fails with EACCES.
// mpirun then prints "plm:rsh: Warning: setpgid(...) failed in parent". On two processors this
// happens in one run of three.
//
// The filter answers the parent's call, setpgid(N, N), with 0. The child's call, setpgid(0, 0),
// passes. A shell with job control makes the first call too. So the filter is only for mpirun
// itself, and only if it starts no ranks here. The filter needs no privilege, because the processes
// cannot gain any through setuid programs.
func filterSetpgid() error {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: equal | unix.BPF_K, K: arch, Jf: 7},
		{Code: load, K: offNumber},
		{Code: equal | unix.BPF_K, K: unix.SYS_SETPGID, Jf: 5},
		{Code: load, K: offPGID},
		{Code: unix.BPF_MISC | unix.BPF_TAX},
		{Code: load, K: offPID},
		{Code: equal | unix.BPF_K, K: 0, Jt: 1}, // setpgid(0, ...)
		{Code: equal | unix.BPF_X, Jt: 1},       // setpgid(N, N)
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},  // anything else
		{Code: ret, K: unix.SECCOMP_RET_ERRNO},  // with errno 0: success
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0); err != nil { //nolint:gosec // G103: prctl(2) takes an address
		return fmt.Errorf("set seccomp filter: %w", err)
	}
	runtime.KeepAlive(program)
	return nil
}

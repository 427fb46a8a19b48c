//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied is the first word of this program's command line when it is to become another
// program that cannot make processes.
const denied = "without-forks"

// withoutForks becomes the program words[0], for which clone(2) of a process fails with
// errno. The kernel hands the filter on to children: there are none. It returns only if
// that failed.
func withoutForks(errno string, words []string) error {
	number := map[string]syscall.Errno{}
	for n := syscall.Errno(1); n < 134; n++ {
		number[unix.ErrnoName(n)] = n
	}
	// The fields of struct seccomp_data: the call's number at 0, the low half of its first
	// argument, clone's flags, at 16.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(number[errno])},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	// For all threads: execve may be called by another one.
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); err != 0 {
		return fmt.Errorf("seccomp: %w", err)
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, words, os.Environ()))
}

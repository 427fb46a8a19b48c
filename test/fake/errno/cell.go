//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// roles are the processes in which calls fail.
var roles = []string{"pid1", "broker", "barrier", "launcher"}

// calls are the system calls of each kind.
var calls = []struct{ name, system string }{
	{"accept", "accept,accept4"},
	{"fork", "clone,clone3,fork,vfork"},
	{"open", "open,openat"},
	{"write", "write,writev,pwrite64,sendto,sendmsg"},
	{"mkdir", "mkdir,mkdirat"},
	{"rename", "rename,renameat,renameat2"},
	{"epoll", "epoll_create1,epoll_ctl,epoll_wait,epoll_pwait"},
}

var errnos = []string{"EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EINTR", "EAGAIN", "ENOSPC", "EIO"}

// moments select which of a thread's calls fail, in strace's syntax. A kernel never answers EINTR forever, because
// each EINTR is one signal, and Go repeats such a call. So "always" means 500 in a row for EINTR.
var moments = []struct{ name, when string }{{"first", "1"}, {"third", "3"}, {"tenth", "10"}, {"always", "1+"}, {processes, ""}}

// processes is a moment for forks only: each fork of a process fails, but no clone of a thread. Without threads the
// Go runtime ends itself.
const processes = "processes"

// cell is one run.
type cell struct{ Role, Call, Errno, Moment string }

func (c cell) String() string { return strings.Join([]string{c.Role, c.Call, c.Errno, c.Moment}, "/") }

// inject returns strace's arguments for the fault.
func (c cell) inject() []string {
	system, when := "", ""
	for _, s := range calls {
		if s.name == c.Call {
			system = s.system
		}
	}
	for _, m := range moments {
		if m.name == c.Moment {
			when = m.when
		}
	}
	if c.Errno == "EINTR" && c.Moment == "always" {
		when = "1..500"
	}
	// An exit_group(2) shows a crash.
	return []string{"-e", "trace=" + system + ",exit_group", "-e", "inject=" + system + ":error=" + c.Errno + ":when=" + when}
}

// all returns every run.
func all() (list []cell) {
	for _, role := range roles {
		for _, call := range calls {
			for _, errno := range errnos {
				for _, m := range moments {
					if m.name == processes && (call.name != "fork" || role == "broker") {
						continue // the broker starts no process
					}
					list = append(list, cell{role, call.name, errno, m.name})
				}
			}
		}
	}
	return list
}

// once lists runs that hung, or ended with a false 0, in the past. Every subset includes them.
var once = []string{"pid1/accept/EMFILE/first", "pid1/accept/ENOMEM/first", "broker/accept/ENFILE/first", "barrier/accept/ENOBUFS/first", "pid1/epoll/EINTR/third"}

// chosen returns the runs with one of the prefixes in only. With an empty only, it chooses at most most of the runs
// that need not wait for a limit, by seed.
func chosen(only string, most int, seed uint64) []cell {
	list := all()
	if only != "" {
		prefixes := strings.Split(only, ",")
		list = slices.DeleteFunc(list, func(c cell) bool {
			return !slices.ContainsFunc(prefixes, func(p string) bool { return c.String() == p || strings.HasPrefix(c.String(), p+"/") })
		})
	}
	if most == 0 {
		return list
	}
	list = slices.DeleteFunc(list, func(c cell) bool { return c.Moment == "always" })
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, func(a, b cell) int { return rank(a) - rank(b) })
	return list[:min(most, len(list))]
}

func rank(c cell) int {
	if slices.Contains(once, c.String()) {
		return 0
	}
	return 1
}

// denied is the first argument of this program if it must become another program that cannot fork processes.
const denied = "without-forks"

// withoutForks executes the program words[0] with a filter that makes clone(2) of a process fail with errno.
// Children would inherit the filter, but there are none. It returns only if it fails.
func withoutForks(errno string, words []string) error {
	number := map[string]syscall.Errno{}
	for n := syscall.Errno(1); n < 134; n++ {
		number[unix.ErrnoName(n)] = n
	}
	// The offsets in struct seccomp_data: the call's number is at 0. The low half of its first argument, the flags
	// of clone, is at 16.
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
	// Set the filter for all threads, because another thread may call execve.
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); err != 0 { //nolint:gosec // G103: seccomp(2) takes an address
		return fmt.Errorf("seccomp: %w", err)
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, words, os.Environ()))
}

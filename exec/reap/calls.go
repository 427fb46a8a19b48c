//go:build linux

package reap

import "golang.org/x/sys/unix"

// call is the number of a system call on this machine, and its name.
type call struct {
	number int
	name   string
}

// calls are the system calls in which a process may stay for long.
var calls = []call{
	{unix.SYS_READ, "read"}, {unix.SYS_WRITE, "write"}, {unix.SYS_READV, "readv"}, {unix.SYS_WRITEV, "writev"},
	{unix.SYS_PREAD64, "pread64"}, {unix.SYS_PWRITE64, "pwrite64"}, {unix.SYS_SENDFILE, "sendfile"}, {unix.SYS_SPLICE, "splice"},
	{unix.SYS_RECVFROM, "recvfrom"}, {unix.SYS_RECVMSG, "recvmsg"}, {unix.SYS_RECVMMSG, "recvmmsg"},
	{unix.SYS_SENDTO, "sendto"}, {unix.SYS_SENDMSG, "sendmsg"}, {unix.SYS_SENDMMSG, "sendmmsg"},
	{unix.SYS_CONNECT, "connect"}, {unix.SYS_ACCEPT, "accept"}, {unix.SYS_ACCEPT4, "accept4"},
	{unix.SYS_PPOLL, "ppoll"}, {unix.SYS_PSELECT6, "pselect6"}, {unix.SYS_EPOLL_PWAIT, "epoll_pwait"}, {unix.SYS_EPOLL_PWAIT2, "epoll_pwait2"},
	{unix.SYS_IO_GETEVENTS, "io_getevents"}, {unix.SYS_IO_URING_ENTER, "io_uring_enter"},
	{unix.SYS_FUTEX, "futex"}, {unix.SYS_FUTEX_WAITV, "futex_waitv"},
	{unix.SYS_NANOSLEEP, "nanosleep"}, {unix.SYS_CLOCK_NANOSLEEP, "clock_nanosleep"}, {unix.SYS_SCHED_YIELD, "sched_yield"},
	{unix.SYS_WAIT4, "wait4"}, {unix.SYS_WAITID, "waitid"}, {unix.SYS_RT_SIGSUSPEND, "rt_sigsuspend"}, {unix.SYS_RT_SIGTIMEDWAIT, "rt_sigtimedwait"},
	{unix.SYS_RESTART_SYSCALL, "restart_syscall"}, {unix.SYS_EXECVE, "execve"}, {unix.SYS_EXIT_GROUP, "exit_group"},
	{unix.SYS_FLOCK, "flock"}, {unix.SYS_FCNTL, "fcntl"}, {unix.SYS_IOCTL, "ioctl"}, {unix.SYS_OPENAT, "openat"}, {unix.SYS_CLOSE, "close"},
	{unix.SYS_FSYNC, "fsync"}, {unix.SYS_FDATASYNC, "fdatasync"}, {unix.SYS_MSYNC, "msync"}, {unix.SYS_GETDENTS64, "getdents64"},
	{unix.SYS_STATX, "statx"}, {unix.SYS_STATFS, "statfs"}, {unix.SYS_MKDIRAT, "mkdirat"}, {unix.SYS_UNLINKAT, "unlinkat"},
	{unix.SYS_SEMOP, "semop"}, {unix.SYS_SEMTIMEDOP, "semtimedop"}, {unix.SYS_MSGRCV, "msgrcv"}, {unix.SYS_MSGSND, "msgsnd"},
	{unix.SYS_MQ_TIMEDRECEIVE, "mq_timedreceive"}, {unix.SYS_MUNMAP, "munmap"}, {unix.SYS_MMAP, "mmap"},
}

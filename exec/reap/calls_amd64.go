//go:build linux

package reap

import "golang.org/x/sys/unix"

// ownCalls are further calls that only this architecture has.
var ownCalls = []call{
	{unix.SYS_POLL, "poll"}, {unix.SYS_SELECT, "select"}, {unix.SYS_EPOLL_WAIT, "epoll_wait"}, {unix.SYS_PAUSE, "pause"},
	{unix.SYS_OPEN, "open"}, {unix.SYS_STAT, "stat"}, {unix.SYS_LSTAT, "lstat"}, {unix.SYS_ACCESS, "access"},
	{unix.SYS_MKDIR, "mkdir"}, {unix.SYS_UNLINK, "unlink"}, {unix.SYS_RENAME, "rename"},
}

//go:build linux

package session

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// TestZombieOfAnotherUser checks a rank of another user, such as one that gosu or sudo starts. Without the
// capability for ptrace, the kernel shows 0 in place of its exit code.
func TestZombieOfAnotherUser(t *testing.T) {
	if syscall.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	t.Chdir("/")
	cmd := exec.Command("/bin/sh", "-c", "exit 7")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }() // its exit code is known
	require.NoError(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	key := being{cmd.Process.Pid, startOf(t, cmd.Process.Pid)}
	var st reap.Status
	var ok bool
	look := func(dropped func() error) error {
		done := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			err := dropped()
			st, ok = zombieOf(key)
			done <- err
		}()
		return <-done
	}
	require.NoError(t, look(dropPtrace))
	require.False(t, ok, "it ended with %v", st)
	if has, err := hasPtrace(); err == nil && has {
		require.NoError(t, look(func() error { return nil }))
		require.True(t, ok)
		require.Equal(t, reap.Status{Code: 7}, st)
	}
}

// dropPtrace drops the capability for ptrace of the current thread.
func dropPtrace() error {
	head, data, err := capabilities()
	if err != nil {
		return err
	}
	data[0].Effective &^= 1 << unix.CAP_SYS_PTRACE
	return unix.Capset(&head, &data[0])
}

func hasPtrace() (bool, error) {
	_, data, err := capabilities()
	return data[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0, err
}

func capabilities() (head unix.CapUserHeader, data [2]unix.CapUserData, err error) {
	head.Version = unix.LINUX_CAPABILITY_VERSION_3
	err = unix.Capget(&head, &data[0])
	return head, data, err
}

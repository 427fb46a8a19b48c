package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// spaceVar marks the program inside its own PID namespace.
const spaceVar = "FAULT_PID_NAMESPACE"

// inOwnSpace runs this program again as PID 1 of a PID namespace with its own
// /proc, and reports its exit code. There a worker's look at all processes sees
// ours alone, as in a container, whatever else the machine runs; and nothing
// can be left behind. Without the right to do so, or inside, done is false.
func inOwnSpace() (code int, done bool) {
	if os.Getenv(spaceVar) != "" || os.Geteuid() != 0 {
		return 0, false
	}
	exe, err := os.Executable()
	if err != nil {
		return 0, false
	}
	runtime.LockOSThread() // the child is killed when the thread that made it ends
	cmd := exec.Command(exe, os.Args[1:]...)
	cmd.Env = append(os.Environ(), spaceVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); errors.Is(err, unix.EPERM) {
		return 0, false
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "fault: "+err.Error())
		return 1, true
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() <= 0 {
		return 1, true
	}
	return cmd.ProcessState.ExitCode(), true
}

// ownProc mounts the namespace's /proc, in this namespace only.
func ownProc() error {
	if os.Getenv(spaceVar) == "" || os.Getpid() != 1 {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

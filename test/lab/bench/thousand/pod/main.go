//go:build linux

// Command pod runs in the simulated pods of test/lab/bench/thousand. It is small, and
// does not wake up while it waits.
//
//	pod init CMD...    run CMD as PID 1 of a namespace of its own, with its own /proc
//	pod hold FILE      print a line, and end when FILE has no more writers
//	pod print FILE     the same, but first pass the standard output to the socket FILE.sock
//
// FILE is a FIFO. One process has it open for writing, and ends all pods at the same time by closing it.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pod: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "init":
		return begin(args[1:])
	case len(args) == 2 && args[0] == "hold":
		return held(args[1])
	case len(args) == 2 && args[0] == "print":
		if err := handOver(args[1] + ".sock"); err != nil {
			return err
		}
		return held(args[1])
	}
	return fmt.Errorf("unknown arguments %q: use init, hold or print", args)
}

// begin mounts /proc and executes the command, in the namespaces that the parent created.
func begin(argv []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// Set again, on the thread that becomes the command: the parent's setting may apply to
	// another thread.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent death signal: %w", err)
	}
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// held prints a line, and waits until the FIFO has no more writers.
func held(path string) error {
	fmt.Printf("begun %d\n", time.Now().UnixNano())
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for {
		if _, err = unix.Read(fd, make([]byte, 1)); err != unix.EINTR {
			return err
		}
	}
}

// handOver passes the standard output, with the rank, to the process that writes the lines of all
// ranks.
func handOver(path string) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _, err = conn.WriteMsgUnix([]byte(os.Getenv("RANK")), unix.UnixRights(1), nil)
	return err
}

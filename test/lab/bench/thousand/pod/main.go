//go:build linux

// Command pod is what runs in the played pods of test/lab/bench/thousand: small, and
// waiting without a wake-up where it waits.
//
//	pod init CMD...    CMD as PID 1 of a namespace of its own, with its own /proc
//	pod hold FILE      says that it has begun, and ends when FILE is let go of
//	pod print FILE     the same; before, it hands its standard output to the socket FILE.sock
//
// FILE is a FIFO, open to be written for whoever lets all of them go on in one instant.
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
	return fmt.Errorf("%q: there are init, hold and print", args)
}

// begin becomes the command in the namespaces that its maker has given it.
func begin(argv []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// Said again, by the thread that becomes the command: the one to which our maker
	// said it may be another.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with its maker: %w", err)
	}
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// held says that it is there, and waits until nobody may write the FIFO any more.
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

// handOver gives our standard output, with our rank, to who writes the lines of all
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

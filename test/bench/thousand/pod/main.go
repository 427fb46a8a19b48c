//go:build linux

// Command pod is what runs in the played pods of test/bench/thousand: small, and
// waiting without a wake-up where it waits.
//
//	pod init CMD...              CMD as PID 1 of a namespace of its own, with its own /proc
//	pod hold FILE                says that it has begun, and ends when FILE is let go of
//	pod print FILE SECONDS RATE  when FILE is let go of, a line with its number and the time RATE times a second
//
// FILE is locked by whoever lets all of them go on in one instant.
package main

import (
	"fmt"
	"os"
	"strconv"
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
	case len(args) == 4 && args[0] == "print":
		seconds, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		rate, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		if err := held(args[1]); err != nil {
			return err
		}
		return print(seconds*rate, time.Second/time.Duration(rate))
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
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// held says that it is there, and waits until the file's lock is given up.
func held(path string) error {
	fmt.Printf("begun %d\n", time.Now().UnixNano())
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_SH); err != unix.EINTR {
			return err
		}
	}
}

// print writes lines at even distances, each rank at a moment of its own within
// one. What could not be written in time is written late, not left out.
func print(lines int, every time.Duration) error {
	rank, err := strconv.Atoi(os.Getenv("RANK"))
	if err != nil {
		return fmt.Errorf("RANK: %w", err)
	}
	next := time.Now().Add(time.Duration(rank) * 7 * time.Millisecond % every)
	buf := make([]byte, 0, 64)
	for i := range lines {
		time.Sleep(time.Until(next))
		next = next.Add(every)
		buf = append(strconv.AppendInt(append(buf[:0], "line "...), int64(i), 10), ' ')
		buf = append(strconv.AppendInt(buf, time.Now().UnixNano(), 10), '\n')
		if _, err := os.Stdout.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

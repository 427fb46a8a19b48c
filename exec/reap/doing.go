//go:build linux

package reap

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TickTime is the length of a tick of Proc.Ticks. USER_HZ is 100 on every machine with Linux's
// /proc (time(7)).
const TickTime = 10 * time.Millisecond

// Doing is what a process does at the moment, as far as the kernel shows it. If the process has
// several threads, it is about the first.
type Doing struct {
	// Call is the name of the current system call: "syscall 999" if its name is not known here, ""
	// if there is none. Number is then -1.
	Call   string
	Number int
	// Refused means that the kernel does not show us the call.
	Refused bool
	Waiting string // the kernel function in which it sleeps; "" if not known
	// Read and Written are the bytes moved by read(2), write(2) and similar calls since the process
	// started, without those of the socket calls. Counted means that they are known.
	Read, Written uint64
	Counted       bool
	Peer          Peer // of the socket for which it waits
}

// Look returns what a process does. A process that has ended does nothing. The kernel shows the
// system call only to processes that may attach with ptrace(2): usually ancestors of the same user.
func Look(pid int) Doing {
	base := "/proc/" + strconv.Itoa(pid)
	d := Doing{Number: -1}
	text, err := os.ReadFile(base + "/syscall")
	if err == nil {
		d.Number = parseCall(text)
		d.Call = nameOf(d.Number)
		d.Peer = peerOf(base, text)
	}
	d.Refused = err != nil
	if text, err = os.ReadFile(base + "/wchan"); err == nil {
		d.Waiting = parseWaiting(text)
	}
	if text, err = os.ReadFile(base + "/io"); err == nil {
		d.Read, d.Written, d.Counted = parseMoved(text)
	}
	return d
}

// Thread is one thread of a process.
type Thread struct {
	TID           int
	Comm          string
	Call, Waiting string // as in Doing
}

// Threads returns up to most threads of a process, in the order of their numbers.
func Threads(pid, most int) (list []Thread) {
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(base)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(most) // a part is better than none
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		one := Thread{TID: tid}
		if text, err := os.ReadFile(base + "/" + name + "/comm"); err == nil {
			one.Comm = strings.TrimSuffix(string(text), "\n")
		}
		if text, err := os.ReadFile(base + "/" + name + "/syscall"); err == nil {
			one.Call = nameOf(parseCall(text))
		}
		if text, err := os.ReadFile(base + "/" + name + "/wchan"); err == nil {
			one.Waiting = parseWaiting(text)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Thread) int { return a.TID - b.TID })
	return list
}

// parseCall reads /proc/PID/syscall (proc_pid_syscall(5)). It contains "running", or "-1 SP PC" for
// a process that waits outside a call, else the number, six arguments, SP and PC. parseCall returns
// -1 if there is no call, and for any other text.
func parseCall(text []byte) int {
	word, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	n, err := strconv.Atoi(string(word))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// longestWaiting limits the name of a kernel function: KSYM_NAME_LEN is 512.
const longestWaiting = 64

// parseWaiting reads /proc/PID/wchan (proc_pid_wchan(5)). 0 means none, or hidden from us.
func parseWaiting(text []byte) string {
	name := strings.TrimSpace(string(text))
	if name == "0" || len(name) > longestWaiting || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return name
}

// parseMoved reads /proc/PID/io (proc_pid_io(5)).
func parseMoved(text []byte) (read, written uint64, ok bool) {
	found := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return 0, 0, false
		}
		switch string(name) {
		case "rchar":
			read, found = n, found+1
		case "wchar":
			written, found = n, found+1
		}
	}
	return read, written, found == 2
}

// nameOf returns the name of a system call on this machine.
func nameOf(number int) string {
	if number < 0 {
		return ""
	}
	for _, known := range [...][]call{calls, ownCalls} {
		for _, c := range known {
			if c.number == number {
				return c.name
			}
		}
	}
	return "syscall " + strconv.Itoa(number)
}

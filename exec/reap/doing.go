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

// TickTime is a tick of Proc.Ticks: USER_HZ is 100 on every machine that Linux
// shows its /proc on (time(7)).
const TickTime = 10 * time.Millisecond

// Doing is what a process does at the moment, as far as the kernel tells us: of
// a process of several threads, what its first one does.
type Doing struct {
	// Call is the system call that it sits in, by name; "syscall 999" for one
	// without a name here, "" for none. Number is -1 for none.
	Call   string
	Number int
	// Refused: the kernel does not show us the call.
	Refused bool
	Waiting string // the kernel's function that it sleeps in; "": not told
	// Read and Written are the bytes that read(2), write(2) and their like have
	// moved for it since it began, those of sockets' own calls left out; Counted: they are known.
	Read, Written uint64
	Counted       bool
	Peer          Peer // of the socket that it waits for
}

// Look tells what a process does. One that has ended does nothing. The kernel
// shows the call only to those who may attach to a process with ptrace(2): its
// ancestors of the same user, as a rule.
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
	Call, Waiting string // as in a Doing
}

// Threads looks at the threads of a process, most of them at the most, in the order
// of their numbers.
func Threads(pid, most int) (list []Thread) {
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(base)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(most) // a part of them is better than none
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

// parseCall reads /proc/PID/syscall (proc_pid_syscall(5)): "running", "-1 SP PC"
// for a process that waits outside of a call, else the number, six arguments, SP
// and PC. -1 is what is no call, or not that file.
func parseCall(text []byte) int {
	word, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	n, err := strconv.Atoi(string(word))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// longestWaiting bounds the name of a kernel's function: KSYM_NAME_LEN is 512.
const longestWaiting = 64

// parseWaiting reads /proc/PID/wchan (proc_pid_wchan(5)): 0 is none, or not for
// us to see.
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

// nameOf is a call's name on this machine.
func nameOf(number int) string {
	if number < 0 {
		return ""
	}
	for _, known := range []map[int]string{calls, ownCalls} {
		if name, ok := known[number]; ok {
			return name
		}
	}
	return "syscall " + strconv.Itoa(number)
}

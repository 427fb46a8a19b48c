//go:build linux

// Package proc finds and ends processes of this machine by their environment, for tests.
package proc

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/musterhq/muster/exec/names"
)

// Process is a process that was running when it was found.
type Process struct {
	procfs.Proc // with its PID
	Parent      int
	Comm        string // its name, at most 15 bytes
	Argv        []string
	Env         []string // NAME=VALUE, as at its start
}

// Line returns its arguments, joined by spaces.
func (p Process) Line() string { return strings.Join(p.Argv, " ") }

func (p Process) String() string { return fmt.Sprintf("%d (%s)", p.PID, p.Line()) }

// Getenv returns a variable of its environment, or "".
func (p Process) Getenv(name string) string {
	for _, entry := range p.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Find returns the processes whose environment satisfies such. A process that has ended and is not reaped has no
// environment, so Find leaves it out.
func Find(such func(env []string) bool) (found []Process) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	for _, p := range all {
		env, err := p.Environ()
		if err != nil || !such(env) {
			continue
		}
		stat, err := p.Stat()
		argv, aerr := p.CmdLine()
		if err != nil || aerr != nil || stat.State == "Z" || stat.State == "X" {
			continue // it has ended
		}
		found = append(found, Process{p, stat.PPID, stat.Comm, argv, env})
	}
	return found
}

// Marked returns the processes with the entry, NAME=VALUE, in their environment.
func Marked(entry string) []Process {
	return Find(func(env []string) bool { return slices.Contains(env, entry) })
}

// Fake returns the address of the fake worker that the process is, or runs in. It returns "" for other processes.
func (p Process) Fake() string {
	where := p.Getenv(names.EnvFake) // RUN-ADDRESS
	return where[strings.LastIndexByte(where, '-')+1:]
}

// Signal sends sig to the processes of Marked for which chosen is true, and returns their number.
func Signal(entry string, sig syscall.Signal, chosen func(Process) bool) (n int) {
	for _, p := range Marked(entry) {
		if chosen(p) && syscall.Kill(p.PID, sig) == nil {
			n++
		}
	}
	return n
}

// Gone waits until chosen is false for all processes of Marked. After the time limit it returns the remaining ones.
func Gone(entry string, within time.Duration, chosen func(Process) bool) []Process {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // poll: there is no event when another program's process ends
		left := slices.DeleteFunc(Marked(entry), func(p Process) bool { return !chosen(p) })
		if len(left) == 0 || time.Since(began) > within {
			return left
		}
	}
}

// Wipe kills the processes of Marked, repeatedly for 2 s, because a killed process may have forked.
func Wipe(entry string) {
	for range 100 {
		all := Marked(entry)
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended
		}
		time.Sleep(20 * time.Millisecond) // poll: there is no event when another program's process ends
	}
}

// PSS returns the proportional set size of a process, in bytes.
func PSS(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	rollup, err := p.ProcSMapsRollup()
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return float64(rollup.Pss), nil
}

// Containers returns PID 1 of every container on this machine, by the host name that the kubelet gave it. Several
// containers may have the same name.
func Containers() (map[string][]Process, error) {
	found := map[string][]Process{}
	for _, p := range Find(func(env []string) bool {
		return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "HOSTNAME=") })
	}) {
		status, err := p.NewStatus()
		if err != nil {
			continue // it has ended
		}
		if first(status.NSpids) {
			found[p.Getenv("HOSTNAME")] = append(found[p.Getenv("HOSTNAME")], p)
		}
	}
	return found, nil
}

// first reports whether a process is PID 1 in its own namespace, and not in ours. numbers has its PID in each
// namespace, from ours to its own.
func first(numbers []uint64) bool { return len(numbers) > 1 && numbers[len(numbers)-1] == 1 }

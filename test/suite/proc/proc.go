//go:build linux

// Package proc finds and ends processes of this machine for tests, by their environment.
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

// Process is one that lived when it was looked for.
type Process struct {
	procfs.Proc // with its PID
	Parent      int
	Comm        string // its name, of 15 bytes at most
	Argv        []string
	Env         []string // NAME=VALUE, as it was started
}

// Line is its words, joined by blanks.
func (p Process) Line() string { return strings.Join(p.Argv, " ") }

func (p Process) String() string { return fmt.Sprintf("%d (%s)", p.PID, p.Line()) }

// Getenv is a variable of its environment, or empty.
func (p Process) Getenv(name string) string {
	for _, entry := range p.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Find lists the processes with such an environment. Those that have ended and only wait to be
// collected have none any more.
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
			continue // it has ended meanwhile
		}
		found = append(found, Process{p, stat.PPID, stat.Comm, argv, env})
	}
	return found
}

// Marked lists the processes with an entry, NAME=VALUE, in their environment.
func Marked(entry string) []Process {
	return Find(func(env []string) bool { return slices.Contains(env, entry) })
}

// Fake is the address of the fake worker that a process is, or runs in; empty elsewhere.
func (p Process) Fake() string {
	where := p.Getenv(names.EnvFake) // RUN-ADDRESS
	return where[strings.LastIndexByte(where, '-')+1:]
}

// Signal sends sig to those of Marked that are chosen, and returns how many there were.
func Signal(entry string, sig syscall.Signal, chosen func(Process) bool) (n int) {
	for _, p := range Marked(entry) {
		if chosen(p) && syscall.Kill(p.PID, sig) == nil {
			n++
		}
	}
	return n
}

// Gone waits until none of Marked is chosen, and returns those that still are after the time.
func Gone(entry string, within time.Duration, chosen func(Process) bool) []Process {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // nothing tells when another program's process ends
		left := slices.DeleteFunc(Marked(entry), func(p Process) bool { return !chosen(p) })
		if len(left) == 0 || time.Since(began) > within {
			return left
		}
	}
}

// Wipe kills what Marked lists, again and again for 2 s, as what is killed may have forked.
func Wipe(entry string) {
	for range 100 {
		all := Marked(entry)
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended meanwhile
		}
		time.Sleep(20 * time.Millisecond) // nothing tells when another program's process ends
	}
}

// PSS is the proportional set size of a process, in bytes.
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

// Containers lists PID 1 of every container on this machine, by the host name that the kubelet
// gave it. Containers of one name are beside each other.
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

// first reports whether a process is number 1 in its own namespace, and not in ours. Numbers are
// those in each namespace, from ours to its own.
func first(numbers []uint64) bool { return len(numbers) > 1 && numbers[len(numbers)-1] == 1 }

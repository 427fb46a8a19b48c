//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/names"
)

const (
	envMark  = "CONFORM_MARK" // in every process of one cell
	envWhere = names.EnvFake  // in every process on a fake worker: RUN-HOST
	mostComm = 15             // bytes of a process's name in /proc
)

// process is one of a cell's.
type process struct {
	pid, parent int
	comm        string
	argv        []string
	host        string // of the fake worker; "" in the launcher
}

func (p process) String() string {
	return fmt.Sprintf("%d %s on %s: %s", p.pid, p.comm, p.host, strings.Join(p.argv, " "))
}

// processes lists the living ones of a cell.
func processes(mark string) []process {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var all []process
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || lookup(env, envMark) != mark {
			continue
		}
		dir := filepath.Dir(file)
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		argv, aerr := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || aerr != nil {
			continue
		}
		p := process{argv: strings.Split(strings.TrimSuffix(string(argv), "\x00"), "\x00")}
		open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		fields := strings.Fields(string(stat[shut+1:]))
		if fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		p.comm = string(stat[open+1 : shut])
		p.parent, _ = strconv.Atoi(fields[1])
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		if where := lookup(env, envWhere); where != "" {
			p.host = where[strings.LastIndexByte(where, '-')+1:]
		}
		all = append(all, p)
	}
	return all
}

func lookup(env []byte, name string) string {
	for _, kv := range bytes.Split(env, []byte{0}) {
		if value, ok := strings.CutPrefix(string(kv), name+"="); ok {
			return value
		}
	}
	return ""
}

// chosen sends sig to every process of the cell that is chosen, and reports how
// many there were.
func chosen(mark string, sig syscall.Signal, choose func(process) bool) (n int) {
	for _, p := range processes(mark) {
		if choose(p) && syscall.Kill(p.pid, sig) == nil {
			n++
		}
	}
	return n
}

// gone waits until nothing that is chosen is left, and returns what is.
func gone(mark string, within time.Duration, choose func(process) bool) []process {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		left := slices.DeleteFunc(processes(mark), func(p process) bool { return !choose(p) })
		if len(left) == 0 || time.Since(began) > within {
			return left
		}
	}
}

// wipe ends what a cell left behind.
func wipe(mark string) {
	everything := func(process) bool { return true }
	for range 100 {
		if chosen(mark, syscall.SIGKILL, everything) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/test/suite/proc"
)

const (
	envMark  = "CONFORM_MARK" // in every process of one cell
	envWhere = names.EnvFake  // in every process on a fake worker: RUN-HOST
	mostComm = 15             // bytes of a process's name in /proc
)

// process is one of a cell's.
type process struct {
	proc.Process
	host string // of the fake worker; "" in the launcher
}

func (p process) String() string {
	return fmt.Sprintf("%d %s on %s: %s", p.PID, p.Comm, p.host, p.Line())
}

// processes lists the living ones of a cell.
func processes(mark string) (all []process) {
	for _, p := range proc.Marked(envMark + "=" + mark) {
		where := p.Getenv(envWhere)
		all = append(all, process{p, where[strings.LastIndexByte(where, '-')+1:]})
	}
	return all
}

// chosen sends sig to every process of the cell that is chosen, and reports how
// many there were.
func chosen(mark string, sig syscall.Signal, choose func(process) bool) (n int) {
	for _, p := range processes(mark) {
		if choose(p) && syscall.Kill(p.PID, sig) == nil {
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

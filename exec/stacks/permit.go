//go:build linux

package stacks

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// status is what the right to trace a process depends on.
type status struct {
	ids    []string // real, effective, saved and file system user, and the same for groups
	caps   uint64   // permitted
	bound  uint64   // that any program may get
	passed uint64   // that a program gets which it starts, if it is not root
	tracer string   // pid of the process that traces it; "0": none
	equal  bool     // a program that it can start has all rights of one that we start
}

// readStatus reads /proc/PID/status (proc_pid_status(5)).
func readStatus(text []byte) (s status) {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		set, _ := strconv.ParseUint(fields[0], 16, 64) // no number: no capabilities
		switch name {
		case "Uid", "Gid":
			s.ids = append(s.ids, fields...)
		case "CapPrm":
			s.caps = set
		case "CapBnd":
			s.bound = set
		case "CapAmb":
			s.passed = set
		case "TracerPid":
			s.tracer = fields[0]
		}
	}
	return s
}

// gives returns the capabilities of a program that a process with this status starts.
func (s status) gives() uint64 {
	if len(s.ids) > 1 && s.ids[1] == "0" {
		return s.bound
	}
	return s.passed
}

// refusedBy says why the kernel would not let a program that we start trace a process, or returns
// "" if it would.
func refusedBy(p reap.Proc) (status, string) {
	var own, other bytes.Buffer
	if err := reap.ReadFile("/proc/self/status", &own); err != nil {
		return status{}, err.Error()
	}
	if err := reap.ReadFile("/proc/"+strconv.Itoa(p.PID)+"/status", &other); err != nil {
		return status{}, hasEnded
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") // the kernel may not have Yama
	return refused(strings.TrimSpace(string(scope)), readStatus(own.Bytes()), readStatus(other.Bytes()))
}

// refused implements ptrace(2), "Ptrace access mode checking", and Yama's ptrace_scope.
func refused(scope string, own, other status) (status, string) {
	gives := own.gives()
	able := gives&(1<<unix.CAP_SYS_PTRACE) != 0
	same := len(own.ids) > 0 && slices.Equal(own.ids, other.ids)
	other.equal = same && gives&^other.gives() == 0
	switch {
	case scope == "3":
		return other, "ptrace_scope 3"
	case able:
		return other, ""
	case scope == "1" || scope == "2":
		return other, "ptrace_scope " + scope + ": the container lacks the capability SYS_PTRACE"
	case !same:
		return other, notPermitted
	case other.caps&^gives != 0:
		return other, "not permitted: it has capabilities that a program of the image does not get"
	}
	return other, ""
}

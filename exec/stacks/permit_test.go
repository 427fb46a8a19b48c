//go:build linux

package stacks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRightToTrace checks the right to trace a process by the content of /proc/PID/status.
func TestRightToTrace(t *testing.T) {
	of := func(id int, permitted, bound, passed string) status {
		return readStatus(fmt.Appendf(nil, "Name:\tx\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nGid:\t0\t0\t0\t0\nTracerPid:\t0\nCapPrm:\t%[2]s\nCapBnd:\t%[3]s\nCapAmb:\t%[4]s\n", id, permitted, bound, passed))
	}
	const no, some, trace = "0000000000000000", "00000000a80425fb", "00000000a80c25fb" // the last two: of a container, without and with SYS_PTRACE
	root, tracer, user := of(0, some, some, no), of(0, trace, trace, no), of(1000, no, some, no)
	for name, c := range map[string]struct {
		scope      string
		own, other status
		why        string
		equal      bool
	}{
		"no Yama, same user":              {"", user, user, "", true},
		"no Yama, both root":              {"0", root, root, "", true},
		"another user":                    {"0", root, user, "not permitted: another user's process", false},
		"another user, and root":          {"0", user, root, "not permitted: another user's process", false},
		"another user, with SYS_PTRACE":   {"0", tracer, user, "", false},
		"more capabilities":               {"0", user, of(1000, "0000000000000400", some, no), "not permitted: it has capabilities that a program of the image does not get", true},
		"ptrace_scope 1":                  {"1", root, root, "ptrace_scope 1: the container lacks the capability SYS_PTRACE", true},
		"ptrace_scope 1, with SYS_PTRACE": {"1", tracer, tracer, "", true},
		"ptrace_scope 2":                  {"2", user, user, "ptrace_scope 2: the container lacks the capability SYS_PTRACE", true},
		"ptrace_scope 2, with SYS_PTRACE": {"2", tracer, user, "", false},
		"ptrace_scope 3":                  {"3", tracer, tracer, "ptrace_scope 3", true},
		"a rank without capabilities":     {"0", root, of(0, no, no, no), "", false},
		"SYS_PTRACE that is not ambient":  {"1", of(1000, trace, trace, no), user, "ptrace_scope 1: the container lacks the capability SYS_PTRACE", true},
		"ambient SYS_PTRACE":              {"1", of(1000, trace, trace, trace), of(1000, trace, trace, trace), "", true},
		"no readable status":              {"0", status{}, status{}, "not permitted: another user's process", false},
	} {
		t.Run(name, func(t *testing.T) {
			other, why := refused(c.scope, c.own, c.other)
			require.Equal(t, c.why, why)
			require.Equal(t, c.equal, other.equal, "programs started by the process have the same rights")
		})
	}
}

func FuzzReadStatus(f *testing.F) {
	f.Add([]byte("Uid:\t0\nCapBnd:\tx\nTracerPid:\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		s := readStatus(text)
		refused("1", s, s)
	})
}

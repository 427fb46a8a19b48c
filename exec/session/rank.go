//go:build linux

package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"github.com/musterhq/muster/exec/reap"
)

// rankVariables hold a rank's number: Open MPI, PMIx, MPICH and Intel MPI.
var rankVariables = [...]string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}

// rankOf returns the number that a rank's MPI assigned, or "" if there is none.
func rankOf(pid int) string { return numberIn(pid, rankVariables[:]) }

// localVariables hold the number of local ranks on a rank's host: Open MPI, then MPICH and Intel
// MPI.
var localVariables = [...]string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}

// localRanksOf returns how many ranks an MPI has started on this host, or 0 if it does not say.
func localRanksOf(pid int) int {
	n, _ := strconv.Atoi(numberIn(pid, localVariables[:]))
	return n
}

// ranksSeen counts the ranks of a session that have been seen.
type ranksSeen struct {
	numbers map[string]bool
	local   int // number of local ranks, from their MPI; 0: unknown
	missed  int // ranks whose end is unknown
	unborn  int // children of a daemon whose end and program are unknown
}

// add records a rank by its number, and how many local ranks it reports. "" means no number.
func (r *ranksSeen) add(rank string, local int) {
	if rank == "" {
		return
	}
	if r.numbers == nil {
		r.numbers = map[string]bool{}
	}
	r.numbers[rank], r.local = true, max(r.local, local)
}

// lose records a process whose end is unknown.
func (r *ranksSeen) lose(k kind) {
	switch k {
	case ofRank:
		r.missed++
	case ofUnborn:
		r.unborn++
	}
}

// unseen returns how many ranks were not seen, and how many ended unseen. Unborn processes count
// only if no rank has reported the number of local ranks, because daemons also have helpers.
func (r *ranksSeen) unseen() int {
	if r.local == 0 {
		return r.missed + r.unborn
	}
	return max(0, r.local-len(r.numbers)) + r.missed
}

// unseen returns how many ranks of a session have not been seen. A session with ranks but without
// any rank number counts as at least one, because the ranks that were seen may have been helpers of
// its daemon.
func (s *sight) unseen() int {
	n := s.ranks.unseen()
	if n == 0 && s.hasRanks && len(s.ranks.numbers) == 0 {
		return 1
	}
	return n
}

// stopping reports whether sig is a signal that ends ranks in a stop.
func stopping(sig syscall.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGKILL
}

// numberIn returns the first of the variables that a process has, or "" if its value is too long
// for a number.
func numberIn(pid int, variables []string) string {
	if value := textIn(pid, variables...); len(value) <= reap.LongestNumber {
		return value
	}
	return ""
}

// textIn returns the first of the variables that a process has, or "" if it has none or its
// environment cannot be read.
func textIn(pid int, variables ...string) string {
	var env bytes.Buffer
	if reap.Environ(pid, &env) != nil {
		return ""
	}
	for _, name := range variables {
		for kv := range bytes.SplitSeq(env.Bytes(), []byte{0}) {
			if value, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok {
				return string(value)
			}
		}
	}
	return ""
}

// usesMPI reports whether a process has an MPI library mapped: libmpi of Open MPI and Intel MPI,
// libmpich of Debian's MPICH. It does not recognize a statically linked one.
func usesMPI(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && bytes.Contains(maps, []byte("/libmpi"))
}

// Fields of /proc/PID/stat after the command name, from 0. In proc_pid_stat(5), which counts from
// 1, they are the fields 3, 22 and 52.
const (
	statState = 0
	statStart = 19
	statExit  = 49
)

// zombieOf returns the exit status of a process that has ended and that its parent has not
// collected yet. A shell above a daemon may be slow to do so. zombieOf does not know the status of
// another user's process, such as one below sudo: without the capability for ptrace, the kernel shows
// 0 in its place.
func zombieOf(key being) (st reap.Status, ok bool) {
	_, hidden := os.Readlink(fmt.Sprintf("/proc/%d/exe", key.pid)) // it needs the same right
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", key.pid))
	if err != nil {
		return st, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= statExit || string(fields[statState]) != "Z" || string(fields[statStart]) != fmt.Sprint(key.start) {
		return st, false
	}
	code, err := strconv.ParseUint(string(fields[statExit]), 10, 32)
	if err != nil {
		return st, false
	}
	if code == 0 && errors.Is(hidden, fs.ErrPermission) {
		return st, false
	}
	return reap.StatusOf(syscall.WaitStatus(code)), true
}

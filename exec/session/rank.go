//go:build linux

package session

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/musterhq/muster/exec/reap"
)

// rankVariables hold a rank's number: Open MPI, PMIx, MPICH and Intel MPI.
var rankVariables = [...]string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}

// rankOf reads the number that a rank's MPI gave it; "" when there is none.
func rankOf(pid int) string { return numberIn(pid, rankVariables[:]) }

// localVariables hold how many ranks of the job are on a rank's host: Open MPI, and MPICH and
// Intel MPI.
var localVariables = [...]string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}

// localRanksOf reads how many ranks an MPI has started on this host; 0 when it does not tell.
func localRanksOf(pid int) int {
	n, _ := strconv.Atoi(numberIn(pid, localVariables[:]))
	return n
}

// ranksSeen counts the ranks of a session that were seen.
type ranksSeen struct {
	numbers map[string]bool
	local   int // that there are, as their MPI tells; 0: not known
	missed  int // whose end nobody knows
	unborn  int // children of a daemon of whose end and program nobody knows
}

// add notes a rank by its number, "" being none, and how many it says there are on this host.
func (r *ranksSeen) add(rank string, local int) {
	if rank == "" {
		return
	}
	if r.numbers == nil {
		r.numbers = map[string]bool{}
	}
	r.numbers[rank], r.local = true, max(r.local, local)
}

// lose notes a process of whose end nothing is known.
func (r *ranksSeen) lose(k kind) {
	switch k {
	case ofRank:
		r.missed++
	case ofUnborn:
		r.unborn++
	}
}

// unseen is how many there are beside those, and how many ended unseen. What was no rank yet
// counts only where no rank has told how many there are: daemons have helpers, too.
func (r *ranksSeen) unseen() int {
	if r.local == 0 {
		return r.missed + r.unborn
	}
	return max(0, r.local-len(r.numbers)) + r.missed
}

// unseen is how many ranks of a session have not been seen. A session none of whose
// ranks had a number has at least one such: those that were seen may have been helpers of its
// daemon.
func (s *sight) unseen() int {
	n := s.ranks.unseen()
	if n == 0 && s.hasRanks && len(s.ranks.numbers) == 0 {
		return 1
	}
	return n
}

// stopping reports whether sig is one that ends a rank in a stop.
func stopping(sig syscall.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGKILL
}

// numberIn reads the first of some variables that a process has.
func numberIn(pid int, variables []string) string {
	if value := textIn(pid, variables...); len(value) < 20 {
		return value
	}
	return ""
}

// textIn reads the first of some variables that a process has; "" where it has none, or
// cannot be asked.
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

// usesMPI says whether a process has an MPI library mapped: libmpi of Open MPI
// and Intel MPI, libmpich of Debian's MPICH. One that is linked statically is
// not recognised.
func usesMPI(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && bytes.Contains(maps, []byte("/libmpi"))
}

// Fields of /proc/PID/stat behind the command's name, from 0. In proc_pid_stat(5), which
// counts from 1, they are the fields 3, 22 and 52.
const (
	statState = 0
	statStart = 19
	statExit  = 49
)

// zombieOf is the exit status of a process that has ended and that its parent
// has not collected: a shell above a daemon may be slow to.
func zombieOf(key being) (st reap.Status, ok bool) {
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
	return reap.StatusOf(syscall.WaitStatus(code)), true
}

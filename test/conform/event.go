//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/proc"
)

// workers is the number of workers in every cell. Each has one slot, so the last rank runs on the victim of the
// events.
const (
	workers = 3
	victim  = "127.0.0.4"
	// stranger is a host that is not a worker.
	stranger = "127.0.0.99"
)

// briefTime is how long a program that finishes takes.
const briefTime = 6 * time.Second

// limit is how long `agent run` may take after an event. frozenLimit is longer: only time distinguishes a frozen
// daemon from a busy one.
const (
	limit       = 30 * time.Second
	frozenLimit = 60 * time.Second
)

// event is a row of the matrix.
type event struct {
	key   string
	title string
	// launch is the command that the agent runs on hosts instead of the daemon, if the event is one of the launch.
	launch string
	all    bool // on all hosts; otherwise on the victim
	// stranger is a host in the command that is not a worker. A message must name it.
	stranger string
	crash    bool // the victim's daemon crashes when it ends

	flags []string                // of `agent run`, which then causes the event
	args  func(c column) []string // the program and its arguments; nil: endure
	after time.Duration           // from "ready" to the event, if a rank causes it

	strike func(r *running) int  // causes the event, and returns the number of processes hit
	cannot func(c column) string // why the event is impossible; "" if it is possible
	code   func(code int) bool   // correct exit codes of `agent run`
	codes  string                // the same codes in words
	named  bool                  // the worker must be named
	limit  time.Duration         // 0 means the constant limit
}

func (e event) within() time.Duration {
	if e.limit > 0 {
		return e.limit
	}
	return limit
}

func only(want int) (func(int) bool, string) {
	return func(code int) bool { return code == want }, strconv.Itoa(want)
}

func failure(code int) bool { return code > 0 && code < 256 }

const anyFailure = "not 0"

// events returns the rows in their order.
func events() []event {
	seven, sevenText := only(7)
	zero, zeroText := only(0)
	term, termText := only(128 + int(syscall.SIGTERM))
	lost, lostText := only(names.ExitHopeless)
	list := []event{
		{key: "launch-one", title: "daemon fails at launch with 1 on one worker", launch: "exit 1", code: failure, codes: anyFailure, named: true},
		{key: "launch-all", title: "daemon fails at launch with 1 on all workers", launch: "exit 1", all: true, code: failure, codes: anyFailure, named: true},
		{key: "launch-zero", title: "agent exits 0 at launch, no daemon started", launch: "exit 0", code: failure, codes: anyFailure, named: true},
		{key: "host-unknown", title: "unknown host beside two workers", stranger: stranger, args: withStranger, code: failure, codes: anyFailure, named: true, limit: 10 * time.Second},
		{key: "agent-killed", title: "remote agent killed", strike: killAgent, code: failure, codes: anyFailure, named: true,
			cannot: func(c column) string {
				if c.stays {
					return ""
				}
				return "its agents have ended when the daemons run"
			}},
		{key: "stream-cut", title: "stream to the worker cut", flags: []string{"--fake-fault", "drop worker=2 after=3s"}, args: brief, code: zero, codes: zeroText + ": the job goes on"},
		{key: "daemon-killed", title: "daemon killed", strike: signalDaemon(syscall.SIGKILL), code: failure, codes: anyFailure, named: true},
		{key: "daemon-crash", title: "daemon crashes (SIGSEGV) when its ranks have ended", crash: true, args: brief, after: briefTime,
			code: func(int) bool { return true }, codes: "what mpirun says"},
		{key: "daemon-frozen", title: "daemon frozen (SIGSTOP)", strike: signalDaemon(syscall.SIGSTOP), code: failure, codes: anyFailure, named: true, limit: frozenLimit},
		{key: "daemon-ranks-killed", title: "daemon and its ranks killed", strike: killDaemonAndRanks, code: failure, codes: anyFailure, named: true},
		{key: "worker-lost", title: "worker lost", strike: killWorker, code: lost, codes: lostText, named: true},
		{key: "rank-exit", title: "rank exits with 7, no MPI", args: plainRank, after: time.Second, code: seven, codes: sevenText},
		{key: "mpi-rank-exit", title: "MPI rank exits with 7 without MPI_Finalize", args: endure("exit", 7), after: time.Second, code: seven, codes: sevenText},
		{key: "rank-killed", title: "MPI rank killed by SIGKILL", args: endure("kill", 9), after: time.Second, code: failure, codes: anyFailure},
		{key: "mpirun-term", title: "SIGTERM to mpirun", strike: signalMPIRun(syscall.SIGTERM), code: failure, codes: anyFailure},
		{key: "mpirun-int", title: "SIGINT to mpirun", strike: signalMPIRun(syscall.SIGINT), code: failure, codes: anyFailure},
		{key: "mpirun-kill", title: "SIGKILL to mpirun", strike: signalMPIRun(syscall.SIGKILL), code: failure, codes: anyFailure},
		{key: "run-term", title: "SIGTERM to agent run", strike: signalRun(syscall.SIGTERM), code: term, codes: termText},
	}
	for i := range list {
		if list[i].args == nil {
			list[i].args = endure("", 0)
		}
	}
	return list
}

// endure returns the MPI program. It runs longer than any cell, unless what makes its last rank exit or die.
func endure(what string, value int) func(column) []string {
	return func(c column) []string {
		argv := []string{c.program, "200"}
		if what != "" {
			argv = append(argv, what, strconv.Itoa(value), strconv.Itoa(workers-1))
		}
		return argv
	}
}

// brief returns the MPI program with a time that is longer than the event takes. The program finishes by itself.
func brief(c column) []string { return []string{c.program, strconv.Itoa(int(briefTime.Seconds()))} }

// withStranger returns the MPI program on two workers and on a host that is not a worker.
func withStranger(c column) []string {
	hosts := strings.Join(append(hosts()[:workers-1], stranger), ",")
	return append([]string{c.hosts, hosts, "-n", strconv.Itoa(workers)}, endure("", 0)(c)...)
}

// plainRank returns a job without MPI whose last rank exits with 7.
func plainRank(c column) []string {
	return []string{"sh", "-c", fmt.Sprintf(`case $%s in 0) echo ready;; %d) sleep 1; exit 7;; esac; exec sleep 4`, c.rank, workers-1)}
}

func (r *running) onVictim(p proc.Process) bool { return p.Fake() == victim }

// daemon returns a filter for the daemon that starts the ranks. Some daemons start another daemon first, and some
// leave their parent behind.
func (r *running) daemon() func(proc.Process) bool {
	above := map[int]bool{}
	is := func(p proc.Process) bool { return p.Fake() == victim && slices.Contains(r.column.daemons, p.Comm) }
	for _, p := range proc.Marked(r.mark) {
		above[p.Parent] = above[p.Parent] || is(p)
	}
	return func(p proc.Process) bool { return is(p) && !above[p.PID] }
}

// isAgent reports whether p is the remote agent for the victim, in the launcher: `agent rsh HOST`, or the script
// that replaces it for a bare mpirun.
func (r *running) isAgent(p proc.Process) bool {
	return slices.Contains(p.Argv, victim) && p.Fake() == "" && !r.isRun(p)
}

func (r *running) isRun(p proc.Process) bool { return p.PID == r.cmd.Process.Pid }

// isMPIRun reports whether p is the command itself, not one of the agents below it.
func (r *running) isMPIRun(p proc.Process) bool {
	if r.bare {
		return r.isRun(p)
	}
	return p.Fake() == "" && p.Parent == r.cmd.Process.Pid && !slices.Contains(p.Argv, "worker")
}

func killAgent(r *running) int { return proc.Signal(r.mark, syscall.SIGKILL, r.isAgent) }

func signalDaemon(sig syscall.Signal) func(*running) int {
	return func(r *running) int { return proc.Signal(r.mark, sig, r.daemon()) }
}

// killDaemonAndRanks spares PID 1 of the worker. That is what remains if the kernel kills the other processes of a
// host.
func killDaemonAndRanks(r *running) int {
	return proc.Signal(r.mark, syscall.SIGKILL, func(p proc.Process) bool { return r.onVictim(p) && !isWorker(p) })
}

// killWorker kills PID 1 first, so that it cannot report that the other processes ended.
func killWorker(r *running) int {
	n := proc.Signal(r.mark, syscall.SIGKILL, func(p proc.Process) bool { return r.onVictim(p) && isWorker(p) })
	n += proc.Signal(r.mark, syscall.SIGKILL, r.onVictim)
	if r.bare { // a lost pod breaks its stream too
		proc.Signal(r.mark, syscall.SIGKILL, r.isAgent)
	}
	return n
}

// isWorker reports whether p is PID 1 of a fake worker.
func isWorker(p proc.Process) bool { return p.Comm == "agent" && slices.Contains(p.Argv, "worker") }

func signalMPIRun(sig syscall.Signal) func(*running) int {
	return func(r *running) int { return proc.Signal(r.mark, sig, r.isMPIRun) }
}

func signalRun(sig syscall.Signal) func(*running) int {
	return func(r *running) int { return proc.Signal(r.mark, sig, r.isRun) }
}

const (
	envMark  = "CONFORM_MARK" // in every process of one cell
	envWhere = names.EnvFake  // in every process on a fake worker: RUN-HOST
	mostComm = 15             // bytes of a process's name in /proc
)

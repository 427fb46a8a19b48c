//go:build linux

package main

import (
	"slices"
	"syscall"
)

func (r *running) onVictim(p process) bool { return p.host == victim }

// daemon chooses the one that starts the ranks: some start another one first,
// or leave their own parent behind.
func (r *running) daemon() func(process) bool {
	above := map[int]bool{}
	is := func(p process) bool { return p.host == victim && slices.Contains(r.column.daemons, p.Comm) }
	for _, p := range processes(r.mark) {
		above[p.Parent] = above[p.Parent] || is(p)
	}
	return func(p process) bool { return is(p) && !above[p.PID] }
}

// isAgent: the remote agent for the victim, in the launcher: `agent rsh HOST`,
// or the stand-in of a bare mpirun.
func (r *running) isAgent(p process) bool {
	return slices.Contains(p.Argv, victim) && p.host == "" && !r.isRun(p)
}

func (r *running) isRun(p process) bool { return p.PID == r.cmd.Process.Pid }

// isMPIRun: the command itself, as opposed to the agents below it.
func (r *running) isMPIRun(p process) bool {
	if r.bare {
		return r.isRun(p)
	}
	return p.host == "" && p.Parent == r.cmd.Process.Pid && !slices.Contains(p.Argv, "worker")
}

func killAgent(r *running) int { return chosen(r.mark, syscall.SIGKILL, r.isAgent) }

func signalDaemon(sig syscall.Signal) func(*running) int {
	return func(r *running) int { return chosen(r.mark, sig, r.daemon()) }
}

// killDaemonAndRanks spares PID 1 of the worker, which is what is left of a
// host whose processes were taken by the kernel.
func killDaemonAndRanks(r *running) int {
	return chosen(r.mark, syscall.SIGKILL, func(p process) bool { return r.onVictim(p) && !isWorker(p) })
}

// killWorker takes PID 1 first, so that it sees nothing of the others' end.
func killWorker(r *running) int {
	n := chosen(r.mark, syscall.SIGKILL, func(p process) bool { return r.onVictim(p) && isWorker(p) })
	n += chosen(r.mark, syscall.SIGKILL, r.onVictim)
	if r.bare { // what a lost pod does to the stream that led there
		chosen(r.mark, syscall.SIGKILL, r.isAgent)
	}
	return n
}

// isWorker: PID 1 of a fake worker.
func isWorker(p process) bool { return p.Comm == "agent" && slices.Contains(p.Argv, "worker") }

func signalMPIRun(sig syscall.Signal) func(*running) int {
	return func(r *running) int { return chosen(r.mark, sig, r.isMPIRun) }
}

func signalRun(sig syscall.Signal) func(*running) int {
	return func(r *running) int { return chosen(r.mark, sig, r.isRun) }
}

// Package stacks says in words where the ranks of a job stand, and which of them
// the others wait for.
//
//	parse.go    the text that Python's faulthandler writes
//	pyspy.go    the text that py-spy prints
//	native.go   the text that eu-stack or gdb prints: frames of C
//	doing.go    what one rank does: waits for others, sleeps, computes...
//	verdict.go  the sentence: who is missing from what the others wait for
//	polling.go  ranks that wait by polling
//	places.go   ranks that stand in the same place, said once
//	flights.go  dumps of PyTorch's flight recorder, and NCCL's status
//
// It is pure: it takes what PID 1 of the workers has found (wire.StackRecord) and
// returns sentences. Texts come from ranks, which may have written anything: what
// has not the form of a stack is dropped, and all of it is bounded.
//
// It blames nobody if all ranks wait, if all do the same, or if nothing tells a
// waiting rank from another one. An MPI rank that waits polls, and looks like one
// that computes, unless its frames of C are known; there only a rank that stands apart from a majority is named.
package stacks

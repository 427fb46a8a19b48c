// Package stacks says in words where the ranks of a job are, and which of them the others wait for.
//
//	parse.go    the text that Python's faulthandler writes
//	pyspy.go    the text that py-spy prints
//	native.go   the text that eu-stack or gdb prints: frames of C
//	doing.go    what one rank does: waits for others, sleeps, computes...
//	verdict.go  the sentence: who is missing from what the others wait for
//	polling.go  ranks that wait by polling
//	places.go   ranks in the same place, listed once
//	flights.go  dumps of PyTorch's flight recorder, and NCCL's status
//
// It is pure: it takes what PID 1 of the workers has found (wire.StackRecord) and returns
// sentences. The texts come from ranks, which may have written anything. So what does not look like
// a stack is dropped, and everything is limited in size.
//
// It blames no rank if all ranks wait, if all do the same, or if a waiting rank cannot be told from
// another. An MPI rank that waits polls, and looks like one that computes, unless its C frames are
// known. In that case only a rank that differs from a majority is named.
package stacks

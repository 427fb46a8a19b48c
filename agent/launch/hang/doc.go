// Package hang watches for runs that have come to a stop without an end, and says where
// their ranks stand.
//
//	watch.go    the Watch: whom it asks when, and what it finds
//	still.go    whether processes have done something between two looks
//	polls.go    ranks of MPI that wait by polling
//	heard.go    output on its way, which is a sign of life
//	stacks.go   where ranks stand, by their stacks
//	witness.go  the stacks of the others when one rank has failed
//	words.go    in which calls processes sit, in words
//
// It promises: while output flows nobody is asked. A hang is told only if for the whole
// time nothing was printed and every worker was seen to do nothing; with a worker that
// cannot be asked there is no verdict. Nothing is ended here: what follows from a Finding
// is the caller's to decide.
//
// A Watch owns one goroutine from Begin to End.
package hang

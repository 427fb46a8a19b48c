// Package hang detects runs that hang, and says where their ranks stand.
//
//	watch.go    the Watch: which workers it asks and when, and what it finds
//	still.go    whether processes have done something between two looks
//	polls.go    MPI ranks that wait by polling
//	heard.go    output that passes through, which is a sign of life
//	stacks.go   where ranks stand, from their stacks
//	witness.go  the stacks of the other ranks after one rank has failed
//	words.go    in which calls processes sit, in words
//
// Guarantees: while output flows, no worker is asked. A hang is reported only if, for the whole
// time, nothing was printed and every worker was seen to do nothing. If a worker cannot be asked,
// there is no verdict. The package ends nothing: the caller decides what follows from a Finding.
//
// A Watch owns one goroutine from Begin to End.
package hang

// Package supervise watches over one attempt: its command, the workers and the signals. It says
// what it sees, and brings the command to its end when that has to be.
//
//	supervisor.go  the Supervisor: what it is given, and what it has found
//	supervise.go   its loop, and what it looks at without news
//	ending.go      the phase in which the command is on its way to its end, and the
//	               schedule of signals that each phase has
//	membership.go  who takes part: fixed.go has the same workers all the time, elastic.go
//	               those that come and go; absent.go knows those that have gone
//	leaving.go     workers whose pods are taken away
//	stopped.go     signals, workers that go down, and what a stop says
//	trouble.go     what PID 1 of the workers reports; bystanders.go asks the others for
//	               their stacks when a rank has failed
//	hang_act.go    hangs; stalls.go has broken rules for output lines, leftover.go the ranks
//	               that outlast others
//	aftermath.go   the cause of a failure, looked for a moment longer
//
// It promises: Watch returns when the command has ended, and kills it when its context ends.
// Once a signal has told the command to stop, only the end of its grace or a second signal
// kills it. Nothing on a worker is ended here: a supervisor judges, and signals the command.
package supervise

// Package supervise watches over one attempt: its command, the workers and the signals. It reports
// what it sees, and brings the command to its end if necessary.
//
//	supervisor.go  the Supervisor: what it is given, and what it has found
//	supervise.go   its loop, and what it checks periodically
//	ending.go      the phase in which the command is brought to its end, and the schedule of
//	               signals for each phase
//	membership.go  who takes part: fixed.go for the same workers throughout, elastic.go for
//	               workers that join and leave; absent.go knows the workers that have left
//	leaving.go     workers whose pods are being taken away
//	stopped.go     signals, workers that are told to stop, and the messages about a stop
//	trouble.go     what PID 1 of the workers reports; bystanders.go takes the stacks of the
//	               other ranks after one has failed
//	hang_act.go    hangs; stalls.go handles broken rules for output lines, living.go asks
//	               which ranks still run, leftover.go handles the ranks that outlast others
//	resized.go     workers whose pods are resized in place
//	aftermath.go   a short search for the cause of a failure
//
// Guarantees: Watch returns when the command has ended, and kills the command when its context
// ends. After a signal has told the command to stop, only the end of its grace or a second signal
// kills it. A supervisor judges, and signals the command. It ends nothing on a worker.
package supervise

// Package plan decides what a command is told: hosts, environment, hostfiles, the
// processes on the workers, and ports. Make goes from a Situation to a Plan.
//
//	plan.go        the Plan, and what it depends on
//	hosts.go       what mpirun calls each worker
//	cluster.go     the situation in a framework's words; interfaces.go names the
//	               network interface of each worker
//	processes.go   processes that are started on the workers; packed.go sends long
//	               variables that they share once
//	env.go         the plan's variables in the user's environment
//	ports.go       the ports of each attempt
//	file.go        the plan as a file, for programs beside the launcher
//
// It promises: all of it is pure. What the machine is, comes in as Machine; chance, as
// the function that returns a number. A variable that the user has set is kept as the
// user set it, with a warning.
package plan

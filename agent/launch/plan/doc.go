// Package plan decides what a command is given: hosts, environment, hostfiles, ports, and the
// processes on the workers. Make turns a Situation into a Plan.
//
//	plan.go        the Plan, and the Situation that it depends on
//	hosts.go       the order of the workers, and the name of each for mpirun
//	cluster.go     describes the situation to a framework; interfaces.go chooses the
//	               network interface of each worker
//	processes.go   the processes to start on the workers; packed.go sends long variables
//	               that processes share only once
//	env.go         merges the plan's variables into the user's environment
//	ports.go       the ports of each attempt
//	file.go        the plan as a file, for programs beside the launcher
//
// Guarantees: the package is pure. The facts about the machine come in as a Machine, and randomness
// comes in as a function that returns a number. If the user has set a variable, the plan keeps the
// user's value and warns.
package plan

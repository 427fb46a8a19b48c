// Package command runs the user's command as a process in the launcher, and the other programs that
// the launcher starts.
//
//	command.go   the command: its start, signals, stop and sweep
//	savers.go    a stop in which ranks on workers may first save something
//	launches.go  settings for MPI launchers only; quiet.go protects them from a race in
//	             Open MPI
//	above.go     finds the launcher that called agent rsh: mpirun, or one such as deepspeed
//	scene.go     what the command's processes do, for the hang watch
//	alone.go     detects a command that runs in the launcher only
//	plugin.go    frameworks in programs of their own
//
// Guarantees: every process is a child of the given reaper, or can be found by the mark of the run,
// so that Sweep leaves none behind. Stop asks ranks before it asks their launcher.
package command

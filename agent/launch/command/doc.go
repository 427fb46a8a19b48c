// Package command has the user's command as a process in the launcher, and what else the
// launcher starts there.
//
//	command.go   the command: its start, signals, stop and sweep
//	savers.go    its stop where ranks on workers may save something first
//	launches.go  what an MPI launcher gets that no other command does; quiet.go keeps it
//	             from a race of its own
//	above.go     whose process a call of agent rsh comes from: mpirun, or a launcher such
//	             as deepspeed
//	scene.go     what its processes do, for the watch over hangs
//	alone.go     whether it keeps to the launcher
//	plugin.go    frameworks in programs of their own
//
// It promises: every process is a child of the given reaper, or is found by the mark of the run,
// so that Sweep leaves none behind. Stop asks ranks before it asks their launcher.
package command

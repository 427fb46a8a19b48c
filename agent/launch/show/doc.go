// Package show prints what a launcher knows without launching anything: `agent env`, `agent hosts`,
// `agent stacks` and `agent run --dry-run`.
//
//	show.go       the commands: they use the plan of a running launcher, or an imagined one
//	processes.go  processes on the workers, as shell lines or variable by variable
//	imagine.go    the plan that a launcher would make for the current workers
//	site.go       where these workers are
//
// Guarantees: nothing is started on a worker, and no worker is waited for. Values of variables
// whose names look like secrets are masked in output for people.
package show

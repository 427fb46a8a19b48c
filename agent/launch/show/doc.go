// Package show has what a launcher says of itself without launching anything: `agent env`,
// `agent hosts`, `agent stacks`, `agent run --dry-run` and `agent version`.
//
//	show.go       the verbs: by the plan of the launcher beside us, else by an imagined one
//	processes.go  processes on the workers, as lines for a shell or variable by variable
//	imagine.go    the plan that a launcher would make of the workers that there are now
//	version.go    what the handshake and `agent version` tell of this program
//
// It promises: nothing is started on a worker, and no worker is waited for. The values of
// variables whose names look like secrets are masked where people read them.
package show

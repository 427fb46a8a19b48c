// Package shell is the agent's own small shell, for workers whose image has no
// /bin/sh and for the lines of MPI daemons, which need none: enough of sh(1) for
// the lines that mpirun, mpiexec and DeepSpeed send to their remote agent, and not
// a step more.
//
// It takes one line (Parse) and an environment (Program.Command), and gives
// back one command: what to add to the environment, where to run, and its argv.
// It runs nothing itself and starts no process. It knows words, quotes,
// backslash, `VAR=x;`, `export VAR`, `export VAR=x`, `VAR=x CMD`, `$VAR` and
// `${VAR}`, `;` and newline, `exec CMD`, `cd DIR`, `cd DIR > /dev/null 2>&1`,
// and the prefix `( test ! -r ./.profile || . ./.profile; CMD )` that Open MPI
// sends to users of sh.
//
// It promises that what it accepts means what POSIX sh means by it. Everything
// else (pipes, redirections, substitutions, patterns, a second command, ...) is
// a *Refusal: one sentence that names the construct and the way out. It never
// guesses. Time and memory grow in proportion to the line and its expansions,
// of which there may be 1 MiB and 8 MiB.
package shell

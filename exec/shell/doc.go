// Package shell is the agent's own small shell. It is for workers whose image has no /bin/sh, and
// for the lines of MPI daemons, which need none. It implements just enough of sh(1) for the lines
// that mpirun, mpiexec and DeepSpeed send to their remote agent.
//
// It takes one line (Parse) and an environment (Program.Command), and returns one command: what to
// add to the environment, where to run, and its argv. It runs nothing itself and starts no process.
// It knows words, quotes, backslash, `VAR=x;`, `export VAR`, `export VAR=x`, `VAR=x CMD`, `$VAR`
// and `${VAR}`, `;` and newline, `exec CMD`, `cd DIR`, `cd DIR > /dev/null 2>&1`, and the prefix `(
// test ! -r ./.profile || . ./.profile; CMD )` that Open MPI sends to users of sh.
//
// It promises that a line that it accepts has the same meaning as in POSIX sh. Everything else
// (pipes, redirections, substitutions, patterns, a second command, ...) is a *Refusal: one sentence
// that names the construct and says what to do. It never guesses. Time and memory are proportional
// to the line (at most 1 MiB) and its expansions (at most 8 MiB).
package shell

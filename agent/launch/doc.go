// Package launch is the launcher's role, top to bottom: what `agent run` does. What
// `agent env`, `agent hosts` and `agent stacks` say is in show.
//
// Run goes one way and each step has a file of its own:
//
//	config          one Config out of flags, environment and defaults; outfiles.go looks
//	                whether the files that it names can be written, and what follows
//	                when they could not be
//	files           the private directory, the broker's socket, hostfiles and links; what
//	                a plan depends on of the machine that we are on
//	run.go          the run: its fleet, its loop, and its teardown
//	fleet           the workers of a cluster or of this machine, and a link to each
//	loop.go         attempts, one after the other: ends.go says how one ended,
//	                agent/retry whether there is another; restart.go prepares it
//	attempt.go      one attempt: plan, run, judge; elastic_run.go has everybody told of
//	                workers that come and go
//	plan            hosts, environment and processes of an attempt
//	serve.go        serve `agent rsh`, and note how its sessions end
//	tally           the account of links, sessions, daemons and ranks
//	command         run the user's command here, and programs of frameworks; restart.go ends
//	                what it leaves
//	crew.go         or run it as a group on the workers; lay.go lays its files
//	console         what is printed, and the command's output on its way to the user;
//	                streams.go says which of its streams pass through us, and has
//	                its mpirun mark each line
//	supervise       watch command, workers and signals, and bring the command to its end;
//	                who takes part in an attempt
//	stall           the rules about output lines
//	hang            whether the run has come to a stop, and where its ranks stand then
//	verdict         decide the exit code, and say why it is not the command's
//	report          the summary line, the JSON report, the termination message
//
// A Reaper owns every child process of a run, so a kubeconfig that gets its
// credentials from a program (exec plugin) is not supported by Run.
//
// It promises: the exit code is 0 only when the work was really done (see
// [verdict.Judge]); nothing that it started is left behind when it returns; the user's
// standard output carries the command's bytes and nothing else; every failure
// is one line that begins with "agent: " and, where there is a way out, one
// that begins with "hint: ".
//
// A command that failed is judged after every worker has given a sign of life,
// or a moment's search for the one that has not: mpirun is often the first to
// notice. A worker whose pod looks lost while its link is parked is called.
//
// With --min-workers the workers may come and go (docs/elastic.md): plan, hostfiles
// and the broker's table follow, each whole at any moment. A group that cannot adapt
// begins anew; a worker that was taken away is no failure, one that ended by itself
// is what it is in any run.
//
// Several fake runs may go on at once on one machine, each with its own
// directory, workers and plan. Nothing is written to /etc/mpi outside of a pod,
// nor by fake runs anywhere. Fake workers end with the lease (1 min unless
// given) when their launcher is killed; idle ones after 10 s at the soonest.
//
// A group ends by the rules of agent/group: its exit code is that of the first
// failure, 76 where a worker was lost, and --exit has no say. Variables that the
// user has set on the workers are kept, each with one warning: those of the pods'
// specs, of --env, and under --fake those of the launcher; what an image sets is
// not known before, and is overwritten, but for search paths beside files.
//
// A command that is judged strictly is ended when it cannot end well any more and
// does not notice: a daemon killed or frozen (--frozen-after), a session that
// ended badly, an MPI rank that failed. docs/mpi-conformance.md shows what that
// changes for each mpirun. Of a script only the mpirun is ended, and a 0 that the
// last mpirun contradicts does not count (docs/mpi.md). The same holds for a 0 that a
// session of deepspeed, horovodrun, ray or pdsh contradicts (docs/shims.md).
//
// Standard output and standard error of a command that may start mpiruns are pipes of ours
// where ours are pipes, sockets or files, and one pipe where ours are one. Bytes are handed on
// as they are. A terminal stays the command's own, unless --metric needs its output or
// a progress rule needs both.
//
// With --max-restarts a run that failed begins again in place. The next attempt
// starts when PID 1 of every worker that is not lost has confirmed that nothing of
// the last one runs there, has ports that none before it had, and takes those for
// workers that were made anew in the place of lost ones. docs/restart.md has the
// rules.
//
// It will not rewrite a command's arguments or its output, or take
// a variable from the user: a variable of ours that the user has set is kept
// as the user set it, with a warning.
//
// When the command has ended the workers are told that the job is over,
// whatever its outcome, so that no worker keeps a GPU for nothing;
// --keep-workers leaves them for a next launcher.
package launch

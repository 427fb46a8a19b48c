// Package launch is the launcher: it implements `agent run` from start to end. Package show
// implements `agent env`, `agent hosts` and `agent stacks`.
//
// Run goes through these steps. Each has a file or a package of its own:
//
//	config          builds one Config from flags, environment and defaults; outfiles.go
//	                checks that the files it names can be written, and handles those that
//	                could not be
//	files           the private directory, the broker's socket, hostfiles and links; the
//	                facts about this machine that a plan depends on
//	parts.go        what a run over pods, over fake workers, and with elastic workers is made of
//	run.go          the run: its fleet, its loop, and its teardown; signals.go heeds
//	                signals in waits that have no other reader of them
//	fleet           the workers of a cluster or of this machine, and a link to each
//	loop.go         runs one attempt after the other: ends.go and detail.go say how one
//	                ended, agent/retry decides whether to restart, restart.go prepares the
//	                restart, and replace.go ends workers that others replace; spares.go says
//	                which spares take their places
//	attempt.go      one attempt: plan, run, judge; elastic_run.go spreads the news of
//	                workers that join or leave
//	plan            hosts, environment and processes of an attempt
//	serve.go        serves `agent rsh`, and records how its sessions end
//	tally           records links, sessions, daemons and ranks
//	command         runs the user's command here, and frameworks in programs of their own;
//	                restart.go ends what the command leaves behind
//	crew.go         or runs the command as a group on the workers; lay.go lays its files,
//	                archive.go writes its output to files, and blame.go says which rank
//	                a failed one waited for
//	console         prints messages, and passes the command's output on to the user;
//	                streams.go decides which of its streams pass through the launcher, and
//	                makes mpirun tag each line
//	supervise       watches command, workers and signals, and brings the command to its end;
//	                knows who takes part in an attempt
//	stall           the rules for output lines, and the step times of ranks
//	headway         tells a controller how far the attempt is
//	sample          asks workers what they use, for `agent top`; top.go answers it
//	network         notices that NCCL falls back to sockets
//	hang            detects a hang, and says where the ranks stand then
//	verdict         decides the exit code, and says why it is not the command's
//	record          the events of the run; events.go says which, besides those of the
//	                packages above
//	export          agent-exporter, a program for metrics and traces; exporting.go starts it first
//	                and ends it last
//	upload          agent-exporter, as the program that copies the output to a bucket;
//	                uploading.go checks the bucket first and waits for the rest at the end
//	report          the summary line, the JSON report, the termination message
//	phrase, wait    wording and waits that these packages share
//
// Guarantees: the exit code is 0 only if the work was really done (see [verdict.Judge]). When Run
// returns, nothing that it started is left behind. The user's standard output has the command's
// bytes and nothing else. Every failure is one line that begins with "agent: ". If there is a
// remedy, a line that begins with "hint: " follows.
//
// # Processes and files
//
// A Reaper owns every child process of a run. So Run does not support a kubeconfig that gets its
// credentials from a program (exec plugin).
//
// Several fake runs may run at once on one machine, each with its own directory, workers and plan.
// Only a launcher in a pod writes to /etc/mpi, and a fake run never does. Fake workers end with the
// lease (1 min by default) if their launcher is killed. Idle fake workers end after 10 s at the
// earliest.
//
// If the user's command may start mpiruns, its standard output and standard error become pipes of
// ours where ours are pipes, sockets or files. They become a single pipe if ours are the same file.
// Bytes pass through unchanged. A terminal stays the command's own, unless --metric needs its
// output, or a progress rule or a rule about output needs both streams.
//
// Run does not rewrite a command's arguments or its output. If the user has set one of our
// variables, Run keeps the user's value and warns.
//
// # Verdicts
//
// mpirun is often the first to notice a loss. So Run judges a failed command only after every
// worker has given a sign of life, or after a short search for the missing worker. If a worker's
// pod looks lost while its link is parked, Run wakes the link.
//
// A group ends by the rules of agent/group. Its exit code is that of the first failure, or 76 if a
// worker was lost, and --exit does not apply. Run keeps variables that the user has set on the
// workers, with one warning each. These are variables of the pods' specs, of --env, and with --fake
// those of the launcher. Variables of an image count if the worker reports them
// ([config.Config.Asked]). Other variables of an image are overwritten, except search paths to laid
// files.
//
// Under strict judgment, Run ends a command that can no longer end well and does not notice. The
// causes are a daemon that was killed or frozen (--frozen-after), a session that ended badly, and
// an MPI rank that failed. docs/explanation/mpi-conformance.md shows what that changes for each mpirun. In a
// script, Run ends only the mpirun, and an exit code of 0 that the last mpirun contradicts does not
// count (docs/guides/mpi.md). The same holds for a 0 that a session of deepspeed, horovodrun, ray or pdsh
// contradicts (docs/guides/shims.md).
//
// # Restarts and elastic runs
//
// With --max-restarts, a failed run restarts in place. The next attempt starts when PID 1 of every
// worker that is not lost has confirmed that nothing of the last attempt runs there. It uses other
// ports than earlier attempts, and replacements for lost workers. A rule may replace more workers:
// Run ends these in such a way that their pods fail. docs/guides/restart.md has the rules.
//
// With --spares, the workers of an attempt are those with seats ([rendezvous.Seats]). Links of the
// other workers stay open, but nothing that happens there concerns the command. Only workers with
// seats are cleared before a restart, and a spare must answer before it takes a seat.
//
// With --min-workers, workers may join and leave (docs/guides/elastic.md). Plan, hostfiles and the
// broker's table follow, and each is complete at any moment. A group that cannot adapt restarts. A
// worker that was taken away is no failure. A worker that ended by itself counts as in any other
// run.
//
// When the command has ended, Run tells the workers that the job is over, whatever its outcome, so
// that no worker keeps a GPU for nothing. --keep-workers leaves them for the next launcher.
package launch

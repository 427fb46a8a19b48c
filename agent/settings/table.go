package settings

import (
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
)

// Headings of agent run.
const (
	which     = "which workers"
	waiting   = "waiting for them"
	running   = "running the command"
	progress  = "progress of the command"
	framework = "frameworks whose processes are started on the workers"
	rehearsal = "on this machine, without a cluster"
	printing  = "what is printed"
)

// Headings of agent join.
const (
	who     = "Who is who (each flag has a variable: MUSTER_WORKERS for --workers)"
	started = "What is started"
	failing = "When something fails"
)

// Headings of agent submit.
const (
	what      = "what"
	asRun     = "how it runs, as in agent run"
	asRunRule = "progress of the command, as in agent run"
)

// table lists all settings, in the order of help.
func table() []Setting {
	var all []Setting
	for _, part := range [][]Setting{workers(), limits(), ends(), rules(), launching(), fake(), output()} {
		all = append(all, part...)
	}
	return all
}

func workers() []Setting {
	return []Setting{
		{Name: "workers", First: true, Kind: Number, Field: "workers", Run: Use{which, "how many `N` to wait for", ""}, Join: Use{who, "`N` members of the job", ""},
			Submit: Use{what, "`N` workers; a launcher is not among them", "1"}},
		{Name: "min-workers", First: true, Kind: Number, Field: "elastic.min", Run: Use{which, "elastic: start with `N` workers; others may come and go while the command runs", ""},
			Submit: Use{asRun, "elastic: start with `N` workers; others may come and go", ""}},
		{Name: "max-workers", Kind: Number, Field: "elastic.max", Run: Use{which, "elastic: take `N` workers at most (default: --workers, or --fake)", ""},
			Submit: Use{asRun, "elastic: `N` workers at most (default: --workers)", ""}},
		{Name: "rank", Kind: Number, Join: Use{who, "this one's number `N`, from 0 (default: JOB_COMPLETION_INDEX, MUSTER_POD_INDEX, the end of the host name)", "-1"}},
		{Name: "coordinator", Kind: Text, Join: Use{who, "rank 0 at `HOST:PORT` (default: our own host name with 0 at its end, and the pod's subdomain, port 9377)", ""}},
		{Name: "token-file", Kind: Text, Join: Use{who, "the job's token in `FILE` (default: MUSTER_TOKEN), the same for all; not needed for one", ""}},
		{Name: "slots", First: true, Kind: Number, Field: "slots", Run: Use{which, "slots of each worker: how many ranks mpirun puts there", "1"}, Join: Use{who, "slots `N` of this member, told to the others (default 1)", "1"}},
		{Name: "launcher-slots", Kind: Number, Field: "launcher.slots", Run: Use{which, "ranks `N` that mpirun puts into the launcher, first of all (default: none)", ""},
			Submit: Use{asRun, "ranks `N` that mpirun puts into the launcher", ""}},
		{Name: "job", First: true, Kind: Text, Run: Use{which, "the job's `NAME`; its workers are muster.dev/job=NAME,muster.dev/role=worker", ""}, Join: Use{started, "the job's `NAME` (default: MUSTER_JOB)", ""}},
		{Name: "selector", Short: "l", Kind: Text, Run: Use{which, "label `SELECTOR` of the workers, instead of --job", ""}},
		{Name: "pods", Kind: Names, Run: Use{which, "their `NAMES`, as in a,b: the launcher then needs no list and watch of pods, only get of these", ""}},
		{Name: "namespace", First: true, Short: "n", Kind: Text, Run: Use{which, "their namespace (default: the launcher's own)", ""}},
		{Name: "container", Kind: Text, Run: Use{which, "their container (default: kubectl's default container, else the only one)", ""}},
		{Name: "worker-agent", Kind: Text, Run: Use{which, "`PATH` of agent in them (default: where it is here)", ""}},
		{Name: "kubeconfig", Kind: Text, Run: Use{which, "kubeconfig `FILE` (default: the pod's service account)", ""}},
		{Name: "context", Kind: Text, Run: Use{which, "kubeconfig context", ""}},
	}
}

func limits() []Setting {
	return []Setting{
		{Name: "timeout", First: true, Kind: Duration, Run: Use{waiting, "give up (75) when they are not all there after this long; 0: never", "10m"},
			Join: Use{failing, "give up (75) when the members are not all there after this `DURATION` (default 10m); 0: never", "10m"}},
		{Name: "hopeless-after", Kind: Duration, Run: Use{waiting, "give up (76) when waiting has not helped for this long and cannot", "10s"}},
		{Name: "exit", Kind: Text, Run: Use{running, "`RULE`: strict, 0 only if every worker and session did well; command, the command's word (default: strict for mpirun; of a script its last mpirun counts)", ""},
			Submit: Use{asRun, "`RULE` of the exit code: strict or command", ""}},
		{Name: "grace", First: true, Kind: Duration, Run: Use{running, "for saving, between TERM and KILL (in a pod: its terminationGracePeriodSeconds less up to 5s)", "10s"},
			Join: Use{failing, "`DURATION` between TERM and KILL (default 25s; a LaunchJob gives its pod's)", names.DefaultGrace.String()}, Submit: Use{asRun, "`TIME` between asking processes to stop and killing them", ""}},
		{Name: "lease", Kind: Duration, Run: Use{running, "how long workers keep working while the launcher cannot be reached (default with --fake: 1m)", "15m"},
			Join: Use{failing, "`DURATION` that rank 0, or a member, may be out of reach while COMMAND runs (default 1m)", "1m"}, Submit: Use{asRun, "`TIME` that workers go on without the launcher", ""}},
		{Name: "node-lost-after", Kind: Duration, Run: Use{running, "a worker is lost when its link is down and its pod not ready for this long", "30s"},
			Submit: Use{asRun, "`TIME` after which a worker that does not answer is lost", ""}},
		{Name: "frozen-after", Kind: Duration, Run: Use{running, "an MPI daemon (not a rank) that is stopped, by SIGSTOP say, for this long ends the command; 0: never", "30s"},
			Submit: Use{asRun, "`TIME` after which a stopped MPI daemon ends the run; 0: never", ""}},
	}
}

func ends() []Setting {
	return []Setting{
		{Name: "max-restarts", First: true, Kind: Number, Field: "restartPolicy.maxRestarts", Run: Use{running, "begin a run that failed again, in place, up to `N` times; preemption, drain and eviction use up none", ""},
			Join: Use{failing, "run the group again, at most `N` times (default 0)", ""}, Submit: Use{what, "begin a run that failed again, `N` times", ""}},
		{Name: "restart-on", Kind: Text, Field: "restartPolicy.restartOn", Run: Use{running, "`LIST` of the ends that are begun again after: exit codes, lost (a worker), infra, oom, hang, stall, any; +1 adds to these, -143 takes away", retry.Default},
			Join: Use{failing, "`LIST` of exit codes and lost, infra, oom, any (default 130,137,143,lost,infra; +1,-143 changes it)", retry.Default}, Submit: Use{what, "`LIST` of the ends to restart after, as in agent run --restart-on", ""}},
		{Name: "hang-after", First: true, Kind: Duration, Field: "hangAfter", Run: Use{running, "say which rank sits where when none has printed or used a processor for this long, as in 10m; 0: never; the default only reports", "30m"},
			Submit: Use{what, "report a hang after this `TIME` without output and CPU, as in 10m", ""}},
		{Name: "stacks", Kind: Text, Run: Use{running, "take the ranks' stacks at a failure, a hang and for agent stacks: `auto`, or never", "auto"},
			Submit: Use{asRun, "take the ranks' stacks at a failure or a hang: `auto` (default), or never", ""}},
		{Name: "hang-action", Kind: Text, Run: Use{running, "what a hang leads to: `report` alone, or stop: the run ends with 79", "report"},
			Submit: Use{what, "what a hang leads to: `report` alone (default), or stop (79)", ""}},
		{Name: "exit-within", Kind: Duration, Field: "exitWithin", Run: Use{running, "end the run (79) when ranks are still there this long after the first one ended with 0; 0: never", ""},
			Submit: Use{what, "end the job (79) when ranks outlast the first one that ended with 0 by this `TIME`", ""}},
		{Name: "keep-workers", Kind: Switch, Run: Use{running, "leave the workers for a next launcher when the command has ended", ""}},
		{Name: "shims", Kind: Switch, Run: Use{running, "ssh, rsh and pdsh in the command's PATH are the agent: for horovodrun, deepspeed, rsync, git", ""}},
		{Name: "hostfile", First: true, Kind: Text, Run: Use{running, "`FILE` that lists the workers to use; if there is none, all are written there", ""}},
	}
}

// rules returns the flags of progress rules, which run and submit share.
func rules() []Setting {
	rule := func(name, help string) Setting {
		return Setting{Name: name, First: name == "expect" || name == "fail-on", Kind: Rule, Run: Use{progress, help, ""}, Submit: Use{asRunRule, help, ""}}
	}
	list := rule("progress", "such rules as a JSON `LIST`, with the fields of a LaunchJob's spec.progress")
	list.Field = "progress"
	return []Setting{
		rule("expect", "lines that match `REGEXP` must keep coming, and a number that it captures must grow, as in 'step (\\d+)'; may be given again"),
		rule("within", "`TIME` between such lines, for the --expect before it"),
		rule("first-within", "`TIME` until the first one, for the --expect before it (default: --within)"),
		rule("expect-by", "`WHO` prints them, for the --expect before it: job (any rank, the default), or rank (each one)"),
		rule("fail-on", "no line may match `REGEXP`, as in 'loss.*nan'; may be given again"),
		rule("progress-action", "what a broken rule leads to, for the --expect or --fail-on before it: `report` (default of --expect), or stop: the run ends with 79 (default of --fail-on)"),
		list,
	}
}

func launching() []Setting {
	return []Setting{
		{Name: "framework", First: true, Kind: Text, Field: "framework", Run: Use{framework, "`NAME`: auto, deepspeed, horovod, intelmpi, jax, lightgbm, mpi, mpich, mxnet, openmpi, paddle, plain, ray, tensorflow, torch, xgboost (default: found by the command; one that says nothing runs in the launcher)", ""},
			Join: Use{started, "`NAME`: torch, tensorflow, jax, paddle, xgboost, lightgbm, mxnet, ray, plain (default: by the command, else plain)", ""}, Submit: Use{what, "`NAME`, as in agent run --framework (default: KIND's, else found by the command)", ""}},
		{Name: "compat", Kind: Text, Field: "compat", Run: Use{framework, "`kubeflow-v1`: the environment exactly as that operator gave it, faults and all", ""},
			Join: Use{started, "`kubeflow-v1`: the environment exactly as that operator gave it, faults and all; needs --job", ""}, Submit: Use{asRun, "`kubeflow-v1`: the environment exactly as that operator gave it", ""}},
		{Name: "plugin", Kind: Repeated, Run: Use{framework, "a program for --framework plugin:NAME, as `NAME=/path@sha256:HEX`; may be given several times", ""}},
		{Name: "procs-per-worker", First: true, Kind: Number, Field: "procsPerWorker", Run: Use{framework, "processes to start on each worker `N` (default 1)", ""},
			Join: Use{started, "processes `N` of each member (default 1)", ""}, Submit: Use{asRun, "processes `N` that Muster starts on each worker (default 1; torch: the GPUs)", ""}},
		{Name: "roles", First: true, Kind: Text, Run: Use{framework, "the workers' `ROLES` in their order, as in chief=1,ps=1,worker=2 (default: by the pods' labels)", ""},
			Join: Use{started, "the members' `ROLES` in their order, as in chief=1,ps=1,worker=2", ""}},
		{Name: "success", Kind: Text, Field: "success", Run: Use{framework, "whose end decides: auto (the framework's `RULE`), all, any, ROLE or ROLE:INDEX", ""},
			Join: Use{started, "whose end decides, by `RULE`: auto, all, any, ROLE or ROLE:INDEX", ""}, Submit: Use{what, "`RULE`: whose end is the job's, as in agent run --success", ""}},
		{Name: "dynamic-workers", Kind: Switch, Run: Use{framework, "tensorflow: TF_CONFIG's sparse form, in which a worker knows all ps and itself, so that workers may come and go", ""}},
		{Name: "output", First: true, Kind: Text, Run: Use{framework, "`tag`: each line with its rank; plain; dir=PATH: PATH/rank-3.out and .err (default: tag, for one process plain; mpirun's as it is)", ""}},
		{Name: "only-ranks", Kind: Text, Run: Use{framework, "show the output of these `RANKS` only, as in 0,2-3", ""}, Submit: Use{asRun, "show the output of these `RANKS` only, as in 0,2-3", ""}},
		{Name: "chdir", Kind: Text, Run: Use{framework, "`DIR` that they work in (default: their container's own)", ""}, Join: Use{started, "their working `DIR`", ""}},
		{Name: "env", First: true, Kind: Repeated, Run: Use{framework, "set a variable for them, `NAME=VALUE`; may be given several times", ""}, Join: Use{started, "set a variable for them, `NAME=VALUE`; may be given several times", ""}},
		{Name: "interface", Kind: Text, Run: Use{framework, "network interface of the workers, a `NAME` or a CIDR (default: the one that holds the pod's address)", ""},
			Join: Use{started, "network interface `NAME` that they use (default: the one that holds the pod's address)", ""}, Submit: Use{asRun, "network interface of the workers, a `NAME` or a CIDR", ""}},
		{Name: "port", Kind: Number, Run: Use{framework, "the first port `N` of those that a run uses (default: chosen anew, from 20000 to 31000)", ""},
			Join: Use{started, "the first port `N` of those that attempts use (default: chosen anew)", ""}},
	}
}

func fake() []Setting {
	return []Setting{
		{Name: "fake", First: true, Kind: Number, Run: Use{rehearsal, "start `N` workers as processes on this machine", ""}},
		{Name: "fake-fault", First: true, Kind: Repeated, Run: Use{rehearsal, "rehearse a `FAULT`: 'drop every=256KiB', 'kill worker=2 after=3s', 'stall worker=1 after=2s for=10s'", ""}},
	}
}

func output() []Setting {
	return []Setting{
		{Name: "metric", Kind: Repeated, Run: Use{printing, "collect `NAME` (NAME:RAW, NAME:PERCENTAGE) from lines like NAME=0.31; may be given several times", ""}},
		{Name: "metrics-file", Kind: Text, Run: Use{printing, "write them to `FILE` (default: /mlpipeline-metrics.json in a pod, else ./mlpipeline-metrics.json)", ""}},
		{Name: "dry-run", First: true, Kind: Switch, Run: Use{printing, "print environment, hostfile and command instead of running it", ""}},
		{Name: "report", Kind: Text, Run: Use{printing, "write figures of the run to `FILE` as JSON", ""}, Join: Use{failing, "write how the job and each of its attempts ended to `FILE`, as JSON", ""}},
		{Name: "quiet", First: true, Short: "q", Kind: Switch, Run: Use{printing, "complaints only", ""}},
		{Name: "verbose", Short: "v", Kind: Switch, Run: Use{printing, "sessions, links and redials in the last line", ""}},
		{Name: "log-format", Kind: Text, Run: Use{printing, "`auto`, console or json; json covers every line of Muster, not the log alone", "auto"}},
		{Name: "log-level", Kind: Text, Run: Use{printing, "debug, info, `warn` or error", "warn"}},
	}
}

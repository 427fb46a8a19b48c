package settings

import (
	"iter"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
)

// Headings of agent run.
const (
	which     = "workers"
	waiting   = "waiting for workers"
	running   = "running the command"
	progress  = "progress rules"
	framework = "processes on the workers"
	rehearsal = "on this machine, without a cluster"
	printing  = "output"
)

// Headings of agent join.
const (
	who     = "Members (each flag has a variable: MUSTER_WORKERS for --workers)"
	started = "Processes"
	failing = "Failures"
)

// Headings of agent submit.
const (
	what      = "job"
	asRun     = "settings of agent run"
	asRunRule = "progress rules, as in agent run"
)

// table returns all settings, in the order of help. It makes them part by part: every program
// reads the table some ten times at its start, and what it leaves behind stays in its memory.
func table() iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		for _, part := range []func() []Setting{workers, limits, ends, rules, launching, fake, output} {
			for _, s := range part() {
				if !yield(s) {
					return
				}
			}
		}
	}
}

func workers() []Setting {
	return []Setting{
		{Name: "workers", First: true, Kind: Number, Field: "workers", Run: Use{which, "wait for `N` workers", ""}, Join: Use{who, "run with `N` members", ""},
			Submit: Use{what, "start `N` workers, not counting a launcher", "1"}},
		{Name: "min-workers", First: true, Kind: Number, Field: "elastic.min", Run: Use{which, "elastic: start with at least `N` workers; more may join or leave", ""},
			Submit: Use{asRun, "elastic: start with at least `N` workers; more may join or leave", ""}},
		{Name: "max-workers", Kind: Number, Field: "elastic.max", Run: Use{which, "elastic: use at most `N` workers (default: --workers, or --fake)", ""},
			Submit: Use{asRun, "elastic: use at most `N` workers (default: --workers)", ""}},
		{Name: "spares", Kind: Number, Field: "spares", Run: Use{which, "keep `N` extra workers in reserve, to replace workers that fail (default: none)", ""},
			Submit: Use{asRun, "keep `N` extra workers in reserve, to replace workers that fail", ""}},
		{Name: "rank", Kind: Number, Join: Use{who, "be member `N`, from 0 (default: JOB_COMPLETION_INDEX, MUSTER_POD_INDEX, or the end of the host name)", "-1"}},
		{Name: "coordinator", Kind: Text, Join: Use{who, "find rank 0 at `HOST:PORT` (default: this host name with index 0, in the pod's subdomain, port 9377)", ""}},
		{Name: "token-file", Kind: Text, Join: Use{who, "read the job's token from `FILE` (default: MUSTER_TOKEN); a single member needs none", ""}},
		{Name: "slots", First: true, Kind: Number, Field: "slots", Run: Use{which, "give each worker `N` slots for ranks of mpirun", "1"}, Join: Use{who, "report `N` slots to the other members (default 1)", "1"}},
		{Name: "topology-keys", Kind: Names, Field: "topologyKeys", Run: Use{which, "order ranks by the node labels in `LIST`, from coarse to fine; none: by index (default: zone, switch and NVLink domain)", ""},
			Submit: Use{asRun, "order ranks by the node labels in `LIST`, from coarse to fine; none: by index", ""}},
		{Name: "launcher-slots", Kind: Number, Field: "launcher.slots", Run: Use{which, "place the first `N` ranks of mpirun in the launcher (default: none)", ""},
			Submit: Use{asRun, "place the first `N` ranks of mpirun in the launcher", ""}},
		{Name: "job", First: true, Kind: Text, Run: Use{which, "use workers of job `NAME`: labels muster.dev/job=NAME,muster.dev/role=worker", ""}, Join: Use{started, "belong to job `NAME` (default: MUSTER_JOB)", ""}},
		{Name: "selector", Short: "l", Kind: Text, Run: Use{which, "use workers that match label `SELECTOR` instead of --job", ""}},
		{Name: "pods", Kind: Names, Run: Use{which, "use pods `NAMES`, as in a,b, and as many workers unless --workers is given; needs no right to list or watch pods, only to get these", ""}},
		{Name: "namespace", First: true, Short: "n", Kind: Text, Run: Use{which, "namespace of the workers (default: the launcher's)", ""}},
		{Name: "container", Kind: Text, Run: Use{which, "container of the workers (default: kubectl's default, else the only one)", ""}},
		{Name: "worker-agent", Kind: Text, Run: Use{which, "run the agent at `PATH` on the workers (default: same as here)", ""}},
		{Name: "transport", Kind: Text, Field: "transport", Run: Use{which, "reach workers by `WAY`: exec (pods/exec), network (TCP to the pod, needs --key-file; exec if that fails), or auto (network if there is a key)", "exec"},
			Submit: Use{asRun, "reach workers by `WAY`: exec (default), network (with keys that the controller makes) or auto", ""}},
		{Name: "key-file", Kind: Text, Run: Use{which, "launcher's key of the job, which agent keygen writes to `FILE`", ""}},
		{Name: "worker-port", Kind: Number, Run: Use{which, "TCP port `N` of workers for --transport=network", "9378"}},
		{Name: "kubeconfig", Kind: Text, Run: Use{which, "read kubeconfig `FILE` (default: the pod's service account)", ""}},
		{Name: "context", Kind: Text, Run: Use{which, "kubeconfig context", ""}},
	}
}

func limits() []Setting {
	return []Setting{
		{Name: "timeout", First: true, Kind: Duration, Run: Use{waiting, "fail (exit 75) if workers are missing after this long; 0: never", "10m"},
			Join: Use{failing, "fail (exit 75) if members are missing after `DURATION`; 0: never (default 10m)", "10m"}},
		{Name: "hopeless-after", Kind: Duration, Run: Use{waiting, "fail early (exit 76) once a permanent error has lasted this long", "10s"}},
		{Name: "preflight", First: true, Kind: Text, Field: "preflight.mode", Run: Use{waiting, "check workers before ranks start: off, `warn`, or fail (exit 76)", "warn"},
			Submit: Use{asRun, "check workers before ranks start: off, `warn` or fail", ""}},
		{Name: "preflight-command", Kind: Text, Field: "preflight.command", Run: Use{waiting, "also run shell `COMMAND` on each worker; a nonzero exit code is a failed check", ""},
			Submit: Use{asRun, "also run shell `COMMAND` on each worker before ranks start", ""}},
		{Name: "preflight-group-command", Kind: Text, Field: "preflight.groupCommand", Run: Use{waiting, "also run shell `COMMAND` once on each worker together, as ranks of a small job", ""},
			Submit: Use{asRun, "also run shell `COMMAND` on all workers together before ranks start", ""}},
		{Name: "preflight-timeout", Kind: Duration, Field: "preflight.timeout", Run: Use{waiting, "kill each of these commands after this long; the check has failed then", "2m"},
			Submit: Use{asRun, "kill each of these commands after `TIME` (default 2m)", ""}},
		{Name: "exit", Kind: Text, Run: Use{running, "decide the exit code by `RULE`: strict (0 only if all workers and sessions succeed) or command (the command's code) (default: strict for mpirun; for a script, its last mpirun)", ""},
			Submit: Use{asRun, "decide the exit code by `RULE`: strict or command", ""}},
		{Name: "grace", First: true, Kind: Duration, Run: Use{running, "time between TERM and KILL (in a pod: its terminationGracePeriodSeconds minus up to 5s)", "10s"},
			Join: Use{failing, "wait `DURATION` between TERM and KILL (default 25s; in a LaunchJob: by its pod)", names.DefaultGrace.String()}, Submit: Use{asRun, "wait `TIME` between TERM and KILL", ""}},
		{Name: "lease", Kind: Duration, Run: Use{running, "how long workers keep working without their launcher (with --fake: 1m)", "15m"},
			Join: Use{failing, "tolerate losing contact with rank 0 or a member for `DURATION` (default 1m)", "1m"}, Submit: Use{asRun, "keep workers working for `TIME` without their launcher", ""}},
		{Name: "node-lost-after", Kind: Duration, Run: Use{running, "a worker is lost if its link is down and its pod not ready this long", "30s"},
			Submit: Use{asRun, "a worker is lost if it does not answer for `TIME`", ""}},
		{Name: "frozen-after", Kind: Duration, Run: Use{running, "end the run if an MPI daemon is stopped (SIGSTOP) this long; 0: never", "30s"},
			Submit: Use{asRun, "end the run if an MPI daemon is stopped (SIGSTOP) for `TIME`; 0: never", ""}},
	}
}

func ends() []Setting {
	return []Setting{
		{Name: "max-restarts", First: true, Kind: Number, Field: "restartPolicy.maxRestarts", Run: Use{running, "restart a failed run in place, up to `N` times, not counting preemption", ""},
			Join: Use{failing, "restart the group up to `N` times (default 0)", ""}, Submit: Use{what, "restart a failed run up to `N` times", ""}},
		{Name: "restart-on", Kind: Text, Field: "restartPolicy.restartOn", Run: Use{running, "restart after the failures in `LIST`: exit codes, lost (a worker), infra, oom, hang, stall, any; +1 adds to the default, -143 removes", retry.Default},
			Join: Use{failing, "restart after the failures in `LIST`: exit codes, lost, infra, oom, any (default 130,137,143,lost,infra; +1 adds, -143 removes)", retry.Default}, Submit: Use{what, "restart after the failures in `LIST`, as in agent run --restart-on", ""}},
		{Name: "restart-policy", Kind: List, Field: "restartPolicy.rules", Run: Use{running, "rules that decide before --restart-on, as a JSON `LIST` of exitCodes, signals, causes, output, container and action (restart, replace-worker, restart-pods, fail, ignore)", ""},
			Submit: Use{what, "rules that decide before --restart-on, as a JSON `LIST`, as in agent run", ""}},
		{Name: "max-restarts-per", Kind: Text, Field: "restartPolicy.maxRestartsPer", Run: Use{running, "restart at most `N/TIME`, as in 6/1h, besides --max-restarts", ""},
			Submit: Use{what, "restart at most `N/TIME`, as in 6/1h, besides --max-restarts", ""}},
		{Name: "max-no-progress", Kind: Number, Field: "restartPolicy.maxNoProgress", Run: Use{running, "end the run (exit 93) after `N` attempts in a row without progress: by the number of an --expect, --progress-file, or time of life; 0: never (default: 3 with --progress-file, else 0)", ""},
			Submit: Use{what, "end the job (exit 93) after `N` attempts in a row without progress (default: 3 with --progress-file)", ""}},
		{Name: "progress-file", Kind: Text, Field: "restartPolicy.progressFile", Run: Use{running, "an attempt makes progress if it writes a file that matches `GLOB`; looked up in the launcher for a command there, else on rank 0's worker", ""},
			Submit: Use{what, "an attempt makes progress if it writes a file that matches `GLOB`, as in agent run", ""}},
		{Name: "hang-after", First: true, Kind: Duration, Field: "hangAfter", Run: Use{running, "report where ranks are when none has printed or used CPU this long; 0: never; the default never stops a run", "30m"},
			Submit: Use{what, "report a hang after `TIME` without output or CPU use, as in 10m", ""}},
		{Name: "stacks", Kind: Text, Run: Use{running, "collect stacks on a failure, a hang and for agent stacks: `auto` or never", "auto"},
			Submit: Use{asRun, "collect stacks of ranks on a failure or a hang: `auto` (default) or never", ""}},
		{Name: "hang-action", Kind: Text, Run: Use{running, "on a hang, `report` it, or stop the run (exit 79)", "report"},
			Submit: Use{what, "on a hang, `report` it (default), or stop the job (exit 79)", ""}},
		{Name: "straggler-after", Kind: Duration, Run: Use{running, "name a rank whose steps are slower than the others' this long; 0: never", "2m"},
			Submit: Use{asRun, "name a rank whose steps are slower than the others' for `TIME` (default 2m)", ""}},
		{Name: "exit-within", Kind: Duration, Field: "exitWithin", Run: Use{running, "end the run (exit 79) if ranks remain this long after the first exits 0; 0: never", ""},
			Submit: Use{what, "end the job (exit 79) if ranks remain `TIME` after the first exits 0", ""}},
		{Name: "keep-workers", Kind: Switch, Run: Use{running, "keep the workers for another launcher when the command ends", ""}},
		{Name: "shims", Kind: Switch, Run: Use{running, "put the agent in PATH as ssh, rsh and pdsh, for scripts, rsync and git", ""}},
		{Name: "hostfile", First: true, Kind: Text, Run: Use{running, "use the workers listed in `FILE`; if it does not exist, write all to it", ""}},
	}
}

// rules returns the flags of progress rules, which run and submit share.
func rules() []Setting {
	rule := func(name, help string) Setting {
		return Setting{Name: name, First: name == "expect" || name == "fail-on", Kind: Rule, Run: Use{progress, help, ""}, Submit: Use{asRunRule, help, ""}}
	}
	list := rule("progress", "progress rules as a JSON `LIST`, as in spec.progress of a LaunchJob")
	list.Field = "progress"
	return []Setting{
		rule("expect", "lines that match `REGEXP` must keep coming; a captured number must grow, as in 'step (\\d+)'; repeatable"),
		rule("within", "allow `TIME` between lines of the preceding --expect"),
		rule("first-within", "allow `TIME` until the first line of the preceding --expect (default: --within)"),
		rule("expect-by", "count lines of the preceding --expect by `WHO`: job (any rank, default) or rank (every rank)"),
		rule("fail-on", "no line may match `REGEXP`, as in 'loss.*nan'; repeatable"),
		rule("progress-action", "if the preceding --expect or --fail-on is broken, `report` it (default of --expect), or stop the run (exit 79, default of --fail-on)"),
		list,
	}
}

func launching() []Setting {
	return []Setting{
		{Name: "framework", First: true, Kind: Text, Field: "framework", Run: Use{framework, "use framework `NAME`: auto, deepspeed, horovod, intelmpi, jax, lightgbm, mpi, mpich, mxnet, openmpi, paddle, plain, ray, tensorflow, torch, xgboost (default: detected from the command, which otherwise runs in the launcher)", ""},
			Join: Use{started, "use framework `NAME`: torch, tensorflow, jax, paddle, xgboost, lightgbm, mxnet, ray, plain (default: detected from the command, else plain)", ""}, Submit: Use{what, "use framework `NAME`, as in agent run (default: from KIND, else detected from the command)", ""}},
		{Name: "compat", Kind: Text, Field: "compat", Run: Use{framework, "reproduce that operator's environment exactly, bugs included: `kubeflow-v1`", ""},
			Join: Use{started, "reproduce that operator's environment exactly, bugs included: `kubeflow-v1`; requires --job", ""}, Submit: Use{asRun, "reproduce that operator's environment exactly, bugs included: `kubeflow-v1`", ""}},
		{Name: "plugin", Kind: Repeated, Run: Use{framework, "program for --framework plugin:NAME, as `NAME=/path@sha256:HEX`; repeatable", ""}},
		{Name: "procs-per-worker", First: true, Kind: Number, Field: "procsPerWorker", Run: Use{framework, "start `N` processes on each worker (default 1)", ""},
			Join: Use{started, "start `N` processes on each member (default 1)", ""}, Submit: Use{asRun, "start `N` processes on each worker (default 1; torch: one per GPU)", ""}},
		{Name: "roles", First: true, Kind: Text, Run: Use{framework, "assign `ROLES` to workers in order, as in chief=1,ps=1,worker=2 (default: by pod labels)", ""},
			Join: Use{started, "assign `ROLES` to members in order, as in chief=1,ps=1,worker=2", ""}},
		{Name: "success", Kind: Text, Field: "success", Run: Use{framework, "decide the result by `RULE`: auto (by framework), all, any, ROLE or ROLE:INDEX", ""},
			Join: Use{started, "decide the result by `RULE`: auto (by framework), all, any, ROLE or ROLE:INDEX", ""}, Submit: Use{what, "decide the result by `RULE`, as in agent run --success", ""}},
		{Name: "dynamic-workers", Kind: Switch, Run: Use{framework, "tensorflow: sparse TF_CONFIG (only all ps and this worker), so workers may join or leave", ""}},
		{Name: "output", First: true, Kind: Text, Run: Use{framework, "print lines with their rank (`tag`) or plain, or write files to dir=PATH or s3://BUCKET/PREFIX (default: tag; plain for one process; mpirun's unchanged)", ""}},
		{Name: "only-ranks", Kind: Text, Run: Use{framework, "show only the output of `RANKS`, as in 0,2-3", ""}, Submit: Use{asRun, "show only the output of `RANKS`, as in 0,2-3", ""}},
		{Name: "chdir", Kind: Text, Run: Use{framework, "run processes in `DIR` (default: the container's working directory)", ""}, Join: Use{started, "run processes in `DIR`", ""}},
		{Name: "env", First: true, Kind: Repeated, Run: Use{framework, "set a variable for processes, as `NAME=VALUE`; repeatable", ""}, Join: Use{started, "set a variable for processes, as `NAME=VALUE`; repeatable", ""}},
		{Name: "interface", Kind: Text, Run: Use{framework, "use network interface `NAME` (or a CIDR) on workers (default: the one with the pod's address)", ""},
			Join: Use{started, "use network interface `NAME` (default: the one with the pod's address)", ""}, Submit: Use{asRun, "use network interface `NAME` (or a CIDR) on workers", ""}},
		{Name: "require-rdma", Kind: Switch, Field: "requireRDMA", Run: Use{framework, "stop the run (exit 76) if NCCL prints that it falls back to sockets", ""},
			Submit: Use{asRun, "stop the job (exit 76) if NCCL prints that it falls back to sockets", ""}},
		{Name: "port", Kind: Number, Run: Use{framework, "use ports from `N` up (default: from 20000 to 31000, new for each attempt)", ""},
			Join: Use{started, "use ports from `N` up (default: new ones for each attempt)", ""}},
	}
}

func fake() []Setting {
	return []Setting{
		{Name: "fake", First: true, Kind: Number, Run: Use{rehearsal, "start `N` workers as processes on this machine", ""}},
		{Name: "fake-fault", First: true, Kind: Repeated, Run: Use{rehearsal, "inject a `FAULT`: 'drop every=256KiB', 'kill worker=2 after=3s', 'stall worker=1 after=2s for=10s'", ""}},
	}
}

func output() []Setting {
	return []Setting{
		{Name: "metric", Kind: Repeated, Run: Use{printing, "collect `NAME` (NAME:RAW, NAME:PERCENTAGE) from lines such as NAME=0.31; repeatable", ""}},
		{Name: "metrics-file", Kind: Text, Run: Use{printing, "write metrics to `FILE` (default: /mlpipeline-metrics.json in a pod, else ./mlpipeline-metrics.json)", ""}},
		{Name: "dry-run", First: true, Kind: Switch, Run: Use{printing, "print environment, hostfile and command without running it", ""}},
		{Name: "report", Kind: Text, Run: Use{printing, "write a report of the run to `FILE` as JSON", ""}, Join: Use{failing, "write a report of the job and its attempts to `FILE` as JSON", ""}},
		{Name: "events", Kind: Text, Run: Use{printing, "write the events of the run to `FILE`, for agent timeline", ""}},
		{Name: "metrics-addr", Kind: Text, Run: Use{printing, "serve metrics of the run for Prometheus at `ADDRESS`, as in :9464 (default: none)", ""}},
		{Name: "color", Kind: Text, Run: Use{printing, "color ranks' tags and the line of the wait `WHEN`: auto (on a terminal), always or never", "auto"}},
		{Name: "quiet", First: true, Short: "q", Kind: Switch, Run: Use{printing, "print only warnings and errors", ""}},
		{Name: "verbose", Short: "v", Kind: Switch, Run: Use{printing, "print sessions, links and redials in the last line", ""}},
		{Name: "log-format", Kind: Text, Run: Use{printing, "log format: `auto`, console, or json for every line that Muster prints", "auto"}},
		{Name: "log-level", Kind: Text, Run: Use{printing, "log level: debug, info, `warn` or error", "warn"}},
	}
}

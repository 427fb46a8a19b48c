//go:build !windows

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/names"
)

// flagSets binds a config.Config to flags.
type flagSets struct {
	config config.Config
	groups []group
}

func newFlags() *flagSets {
	f := &flagSets{config: config.Defaults()}
	f.workers(f.group("which workers"))
	f.waiting(f.group("waiting for them"))
	f.running(f.group("running the command"))
	ruleFlags(f.group("progress of the command"), &f.config.Progress)
	f.frameworks(f.group("frameworks whose processes are started on the workers"))
	f.fake(f.group("on this machine, without a cluster"))
	f.output(f.group("what is printed"))
	return f
}

func (f *flagSets) group(title string) *pflag.FlagSet { return addGroup(&f.groups, title) }

func (f *flagSets) workers(set *pflag.FlagSet) {
	c := &f.config
	set.IntVar(&c.Workers, "workers", c.Workers, "how many `N` to wait for")
	set.IntVar(&c.LeastWorkers, "min-workers", c.LeastWorkers, "elastic: start with `N` workers; others may come and go while the command runs")
	set.IntVar(&c.MostWorkers, "max-workers", c.MostWorkers, "elastic: take `N` workers at most (default: --workers, or --fake)")
	set.IntVar(&c.Slots, "slots", c.Slots, "slots of each worker: how many ranks mpirun puts there")
	set.IntVar(&c.LauncherSlots, "launcher-slots", c.LauncherSlots, "ranks `N` that mpirun puts into the launcher, first of all (default: none)")
	set.StringVar(&c.Job, "job", c.Job, "the job's `NAME`; its workers are muster.dev/job=NAME,muster.dev/role=worker")
	set.StringVarP(&c.Selector, "selector", "l", c.Selector, "label `SELECTOR` of the workers, instead of --job")
	set.StringSliceVar(&c.Pods, "pods", c.Pods, "their `NAMES`, as in a,b: the launcher then needs no list and watch of pods, only get of these")
	set.StringVarP(&c.Namespace, "namespace", "n", c.Namespace, "their namespace (default: the launcher's own)")
	set.StringVar(&c.Container, "container", c.Container, "their container (default: kubectl's default container, else the only one)")
	set.StringVar(&c.WorkerAgent, "worker-agent", c.WorkerAgent, "`PATH` of agent in them (default: where it is here)")
	set.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig, "kubeconfig `FILE` (default: the pod's service account)")
	set.StringVar(&c.Context, "context", c.Context, "kubeconfig context")
}

func (f *flagSets) waiting(set *pflag.FlagSet) {
	c := &f.config
	set.DurationVar(&c.Timeout, "timeout", c.Timeout, "give up (75) when they are not all there after this long; 0: never")
	set.DurationVar(&c.HopelessAfter, "hopeless-after", c.HopelessAfter, "give up (76) when waiting has not helped for this long and cannot")
}

func (f *flagSets) running(set *pflag.FlagSet) {
	c := &f.config
	set.StringVar((*string)(&c.Exit), "exit", string(c.Exit), "`strict`: 0 only if every worker and session did well; command: the command's word (default: strict for mpirun; of a script its last mpirun counts)")
	set.DurationVar(&c.Grace, "grace", c.Grace, "for saving, between TERM and KILL (in a pod: its terminationGracePeriodSeconds less up to 5s)")
	set.DurationVar(&c.Lease, "lease", c.Lease, "how long workers keep working while the launcher cannot be reached (default with --fake: 1m)")
	set.DurationVar(&c.NodeLostAfter, "node-lost-after", c.NodeLostAfter, "a worker is lost when its link is down and its pod not ready for this long")
	set.DurationVar(&c.FrozenAfter, "frozen-after", c.FrozenAfter, "an MPI daemon (not a rank) that is stopped, by SIGSTOP say, for this long ends the command; 0: never")
	set.IntVar(&c.MaxRestarts, "max-restarts", c.MaxRestarts, "begin a run that failed again, in place, up to `N` times; preemption, drain and eviction use up none")
	set.StringVar(&c.RestartOn, "restart-on", c.RestartOn, "`LIST` of the ends that are begun again after: exit codes, lost (a worker), infra, oom, hang, stall, any; +1 adds to these, -143 takes away")
	set.DurationVar(&c.HangAfter, "hang-after", c.HangAfter, "say which rank sits where when none has printed or used a processor for this long, as in 10m; 0: never; the default only reports")
	set.StringVar(&c.Stacks, "stacks", c.Stacks, "take the ranks' stacks at a failure, a hang and for agent stacks: `auto`, or never")
	set.StringVar(&c.HangAction, "hang-action", c.HangAction, "what a hang leads to: `report` alone, or stop: the run ends with 79")
	set.DurationVar(&c.ExitWithin, "exit-within", c.ExitWithin, "end the run (79) when ranks are still there this long after the first one ended with 0; 0: never")
	set.BoolVar(&c.KeepWorkers, "keep-workers", c.KeepWorkers, "leave the workers for a next launcher when the command has ended")
	set.BoolVar(&c.Shims, "shims", c.Shims, "ssh, rsh and pdsh in the command's PATH are the agent: for horovodrun, deepspeed, rsync, git")
	set.StringVar(&c.Hostfile, "hostfile", c.Hostfile, "`FILE` that lists the workers to use; if there is none, all are written there")
}

func (f *flagSets) frameworks(set *pflag.FlagSet) {
	c := &f.config
	set.StringVar(&c.Framework, "framework", c.Framework, "`NAME`: "+strings.Join(framework.Names(), ", ")+" (default: found by the command; one that says nothing runs in the launcher)")
	set.StringVar(&c.Compat, "compat", c.Compat, "`kubeflow-v1`: the environment exactly as that operator gave it, faults and all")
	set.StringArrayVar(&c.Plugins, "plugin", c.Plugins, "a program for --framework plugin:NAME, as `NAME=/path@sha256:HEX`; may be given several times")
	set.IntVar(&c.ProcsPerWorker, "procs-per-worker", c.ProcsPerWorker, "processes to start on each worker `N` (default 1)")
	set.StringVar(&c.Roles, "roles", c.Roles, "the workers' `ROLES` in their order, as in chief=1,ps=1,worker=2 (default: by the pods' labels)")
	set.StringVar(&c.Success, "success", c.Success, "whose end decides: auto (the framework's `RULE`), all, any, ROLE or ROLE:INDEX")
	set.BoolVar(&c.DynamicWorkers, "dynamic-workers", c.DynamicWorkers, "tensorflow: TF_CONFIG's sparse form, in which a worker knows all ps and itself, so that workers may come and go")
	set.StringVar(&c.Output, "output", c.Output, "`tag`: each line with its rank; plain; dir=PATH: PATH/rank-3.out and .err (default: tag, for one process plain; mpirun's as it is)")
	set.StringVar(&c.OnlyRanks, "only-ranks", c.OnlyRanks, "show the output of these `RANKS` only, as in 0,2-3")
	set.StringVar(&c.Chdir, "chdir", c.Chdir, "`DIR` that they work in (default: their container's own)")
	set.StringArrayVar(&c.Env, "env", c.Env, "set a variable for them, `NAME=VALUE`; may be given several times")
	set.StringVar(&c.Interface, "interface", c.Interface, "network interface of the workers, a `NAME` or a CIDR (default: the one that holds the pod's address)")
	set.IntVar(&c.Port, "port", c.Port, "the first port `N` of those that a run uses (default: chosen anew, from 20000 to 31000)")
}

func (f *flagSets) fake(set *pflag.FlagSet) {
	c := &f.config
	set.IntVar(&c.Fake, "fake", c.Fake, "start `N` workers as processes on this machine")
	set.StringArrayVar(&c.FakeFaults, "fake-fault", c.FakeFaults, "rehearse a `FAULT`: 'drop every=256KiB', 'kill worker=2 after=3s', 'stall worker=1 after=2s for=10s'")
}

func (f *flagSets) output(set *pflag.FlagSet) {
	c := &f.config
	set.StringArrayVar(&c.Metrics, "metric", c.Metrics, "collect `NAME` (NAME:RAW, NAME:PERCENTAGE) from lines like NAME=0.31; may be given several times")
	set.StringVar(&c.MetricsFile, "metrics-file", c.MetricsFile, "write them to `FILE` (default: /mlpipeline-metrics.json in a pod, else ./mlpipeline-metrics.json)")
	set.BoolVar(&c.DryRun, "dry-run", c.DryRun, "print environment, hostfile and command instead of running it")
	set.StringVar(&c.Report, "report", c.Report, "write figures of the run to `FILE` as JSON")
	set.BoolVarP(&c.Quiet, "quiet", "q", c.Quiet, "complaints only")
	set.BoolVarP(&c.Verbose, "verbose", "v", c.Verbose, "sessions, links and redials in the last line")
	set.StringVar(&c.LogFormat, "log-format", c.LogFormat, "`auto`, console or json; json covers every line of Muster, not the log alone")
	set.StringVar(&c.LogLevel, "log-level", c.LogLevel, "debug, info, `warn` or error")
}

// bind adds the flags to cmd.
func (f *flagSets) bind(cmd *cobra.Command) {
	bindGroups(cmd, f.groups)
}

// resolve completes the Config: a flag counts before its variable, a variable
// before the default. Errors are usage errors that name the variable.
func (f *flagSets) resolve(cmd *cobra.Command, command []string) (config.Config, error) {
	c := &f.config
	c.Command = command
	c.Origin = map[string]string{}
	environ := os.Environ()
	wrong := failure.UnknownVariable(cmd.CommandPath(), environ, names.Variables())
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		name := failure.Variable(flag.Name)
		value := os.Getenv(name)
		switch {
		case flag.Changed:
			c.Origin[flag.Name] = "flag --" + flag.Name
		case value != "" && flag.Name != "help" && !failure.IsServiceLink(environ, name, value):
			c.Origin[flag.Name] = "env " + name
			if err := flag.Value.Set(value); err != nil && wrong == nil {
				wrong = &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("%s=%q: it takes %s", name, value, takes(flag)),
					Way: "it counts as --" + flag.Name + "; unset it or give the flag"}
			}
		default:
			c.Origin[flag.Name] = "default"
		}
	})
	c.FakeGiven = c.Origin["fake"] != "default"
	c.Framework = framework.Spelled(c.Framework)
	if wrong == nil {
		wrong = withPlugins(c)
	}
	c.PodName, c.PodUID, c.PodIP = os.Getenv(names.EnvPodName), os.Getenv(names.EnvPodUID), os.Getenv(names.EnvPodIP)
	c.TerminationLog = envOr("MUSTER_TERMINATION_LOG", c.TerminationLog)
	c.MPIDir = envOr("MUSTER_MPI_DIR", c.MPIDir)
	return *c, wrong
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

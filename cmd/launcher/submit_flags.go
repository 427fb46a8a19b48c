package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/names"
)

func (f *submitFlags) bind(cmd *cobra.Command) {
	var groups []group
	f.whatFlags(addGroup(&groups, "what"))
	f.podFlags(addGroup(&groups, "its pods"))
	f.runFlags(addGroup(&groups, "how it runs, as in agent run"))
	ruleFlags(addGroup(&groups, "progress of the command, as in agent run"), &f.request.Progress)
	f.codeFlags(addGroup(&groups, "data and code"))
	f.schedulingFlags(addGroup(&groups, "where it runs"))
	f.endFlags(addGroup(&groups, "afterwards"))
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	bindGroups(cmd, groups)
}

func (f *submitFlags) whatFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringVar(&r.Name, "name", "", "the job's `NAME`")
	set.StringVar(&r.Image, "image", "", "`IMAGE` of its pods")
	set.StringVar(&r.Framework, "framework", "", "`NAME`, as in agent run --framework (default: KIND's, else found by the command)")
	set.BoolVar(&f.launcher, "launcher", false, "with a launcher, in which the output of all ranks comes together (default: as the command needs it)")
	set.BoolVar(&r.RankTags, "rank-tags", true, "each line of mpirun's output with its rank; --rank-tags=false: as it comes")
	set.IntVar(&r.Workers, "workers", 1, "`N` workers; a launcher is not among them")
	set.IntVar(&r.PS, "ps", 0, "`N` parameter servers besides")
	set.BoolVar(&r.Chief, "chief", false, "a chief besides")
	set.BoolVar(&r.Evaluator, "evaluator", false, "an evaluator besides")
	set.StringVar(&r.Shell, "shell", "", "`SHELL` for a command of one word with blanks (default sh)")
	set.IntVar(&r.MaxRestarts, "max-restarts", 0, "begin a run that failed again, `N` times")
	set.StringVar(&r.RestartOn, "restart-on", "", "`LIST` of the ends to restart after, as in agent run --restart-on")
	set.StringVar(&r.Success, "success", "", "`RULE`: whose end is the job's, as in agent run --success")
	set.DurationVar(&r.HangAfter, "hang-after", 0, "report a hang after this `TIME` without output and CPU, as in 10m")
	set.StringVar(&r.HangAction, "hang-action", "", "what a hang leads to: `report` alone (default), or stop (79)")
	set.DurationVar(&r.ExitWithin, "exit-within", 0, "end the job (79) when ranks outlast the first one that ended with 0 by this `TIME`")
	set.DurationVar(&r.ActiveFor, "active-deadline", 0, "the job fails when it has not ended after `TIME`")
	set.StringVar(&r.CleanPods, "clean-pods", "", "`WHICH` pods to delete at the end: Running (those that still run, the default), None, All")
}

// runFlags are those of agent run that a job can have: what only one process on one
// machine has (--hostfile, --report, --fake...) it cannot.
func (f *submitFlags) runFlags(set *pflag.FlagSet) {
	r := &f.request.Run
	set.IntVar(&r.MinWorkers, "min-workers", 0, "elastic: start with `N` workers; others may come and go")
	set.IntVar(&r.MaxWorkers, "max-workers", 0, "elastic: `N` workers at most (default: --workers)")
	set.IntVar(&r.Procs, "procs-per-worker", 0, "processes `N` that Muster starts on each worker (default 1; torch: the GPUs)")
	set.IntVar(&r.LauncherSlots, "launcher-slots", 0, "ranks `N` that mpirun puts into the launcher")
	set.StringVar(&r.Compat, "compat", "", "`kubeflow-v1`: the environment exactly as that operator gave it")
	set.String("exit", "", "`RULE` of the exit code: strict or command")
	set.String("stacks", "", "take the ranks' stacks at a failure or a hang: `auto` (default), or never")
	set.Duration("grace", 0, "`TIME` between asking processes to stop and killing them")
	set.Duration("lease", 0, "`TIME` that workers go on without the launcher")
	set.Duration("node-lost-after", 0, "`TIME` after which a worker that does not answer is lost")
	set.Duration("frozen-after", 0, "`TIME` after which a stopped MPI daemon ends the run; 0: never")
	set.String("interface", "", "network interface of the workers, a `NAME` or a CIDR")
	set.String("only-ranks", "", "show the output of these `RANKS` only, as in 0,2-3")
}

// launcherSettings are the flags that a launcher is told by its environment.
var launcherSettings = []string{"exit", "stacks", "grace", "lease", "node-lost-after", "frozen-after", "interface", "only-ranks"}

func (f *submitFlags) podFlags(set *pflag.FlagSet) {
	r := &f.request
	set.IntVar(&r.GPUs, "gpus", 0, "`N` GPUs (nvidia.com/gpu) of each worker; also its slots")
	set.IntVar(&r.Slots, "slots", 0, "`N` ranks on each worker (default: its GPUs, else 1)")
	set.StringVar(&r.CPU, "cpu", "", "`AMOUNT` of CPU of each worker, as 4 or 500m")
	set.StringVar(&r.Memory, "memory", "", "`AMOUNT` of memory of each worker, as 16Gi")
	set.StringArrayVar(&r.Devices, "device", nil, "`NAME=N` of another device, as amd.com/gpu=4; may be given again")
	set.BoolVar(&r.RDMA, "rdma", false, "one rdma/hca and the right to lock memory, for each worker")
	set.StringVar(&r.ShmSize, "shm-size", "", "`SIZE` of /dev/shm (default: the pod's memory, where the framework needs it)")
	set.StringArrayVarP(&r.Env, "env", "e", nil, "`NAME=VALUE` of a variable; may be given again")
	set.StringArrayVar(&r.Labels, "label", nil, "`NAME=VALUE` of a label of job and pods; may be given again")
	set.StringArrayVarP(&r.Annotations, "annotation", "a", nil, "`NAME=VALUE` of an annotation of job and pods; may be given again")
	set.BoolVar(&r.Restricted, "restricted", false, "pods as Pod Security's level restricted admits them")
	set.Int64Var(&f.user, "run-as-user", 0, "`UID` of their processes, and GID (default: the image's own)")
	set.StringVar(&r.WorkingDir, "working-dir", "", "working `DIR` (default: the image's own; /root with --sync-source)")
	set.StringVar(&r.ImagePullPolicy, "image-pull-policy", "", "`WHEN`: Always, IfNotPresent or Never")
	set.StringArrayVar(&r.PullSecrets, "image-pull-secret", nil, "`NAME` of a Secret for the registry; may be given again")
	set.StringVar(&r.Delivery, "delivery", names.DefaultDelivery, "`HOW` the agent gets into the pods: init, baked (it is in the image), imageVolume")
	set.StringVar(&r.AgentImage, "agent-image", "", "`IMAGE` of the agent (default: of the controller's release)")
}

func (f *submitFlags) codeFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringArrayVarP(&r.Data, "data", "d", nil, "mount a claim, as `PVC:PATH`; '' is none; may be given again")
	set.StringVar(&r.Sync, "sync-mode", "", "`git` fetches code before the command begins")
	set.StringVar(&r.SyncSource, "sync-source", "", "`URL` of the repository; it is put to WORKING-DIR/code/REPOSITORY")
	set.StringVar(&r.SyncBranch, "sync-branch", "", "`BRANCH` or tag (default: the repository's; also --env GIT_SYNC_BRANCH=...)")
	set.StringVar(&r.SyncImage, "sync-image", "", "`IMAGE` with git and sh, or a git-sync (default: git-sync v4)")
	set.StringVar(&r.SyncSecret, "sync-secret", "", "`NAME` of a Secret with username and password")
}

func (f *submitFlags) schedulingFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringVar(&r.Gang, "gang", "", "all pods at once or none, by `BACKEND`: volcano (--gang alone), coscheduling, kueue, workload")
	set.Lookup("gang").NoOptDefVal = "volcano"
	set.StringVar(&r.Queue, "queue", "", "`QUEUE` of Volcano (also without --gang) or Kueue")
	set.StringVarP(&r.Priority, "priority", "p", "", "priority `CLASS` of the pods")
	set.StringArrayVar(&r.Selectors, "selector", nil, "`LABEL=VALUE` of the nodes; may be given again")
	set.StringArrayVar(&r.Tolerations, "toleration", nil, "`TAINT`: all, KEY, KEY=VALUE, with :EFFECT behind it; may be given again")
	set.BoolVar(&r.HostNetwork, "host-network", false, "the nodes' own network")
	set.BoolVar(&r.HostNetwork, "hostNetwork", false, "")
	_ = set.MarkHidden("hostNetwork") // Arena's spelling
}

func (f *submitFlags) endFlags(set *pflag.FlagSet) {
	set.StringVar(&f.dryRun, "dry-run", "", "print the LaunchJob, by `WHOM`: client (--dry-run alone) asks no cluster, server has its rules judge")
	set.Lookup("dry-run").NoOptDefVal = "client"
	set.StringVarP(&f.output, "output", "o", "", "print it in a `FORMAT`: json, yaml or name")
	set.BoolVar(&f.wait, "wait", false, "wait for the end of the job and end as it does; what is in its way is said on stderr")
	set.BoolVarP(&f.logs, "logs", "f", false, "with --wait: print the job's log")
	set.DurationVar(&f.timeout, "timeout", 0, "with --wait: no longer than `TIME` (75); the job goes on")
	set.StringArrayVar(&f.metrics, "metric", nil, "with --wait: collect `NAME[:RAW|PERCENTAGE]` from the job's log; may be given again")
	set.StringVar(&f.metricsFile, "metrics-file", "", "write them to `FILE` (default: mlpipeline-metrics.json)")
	set.BoolVar(&f.onSignal, "delete-on-signal", false, "with --wait: SIGTERM and SIGINT delete the job (default: it goes on)")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "complaints only")
}

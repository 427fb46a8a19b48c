package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

func (f *submitFlags) bind(cmd *cobra.Command) {
	var groups []group
	f.whatFlags(addGroup(&groups, "what"))
	f.podFlags(addGroup(&groups, "its pods"))
	settings.Defaults(&f.request, settings.OfSubmit)
	settingFlags(&groups, settings.OfSubmit, &f.request)
	f.codeFlags(addGroup(&groups, "data and code"))
	f.schedulingFlags(addGroup(&groups, "where it runs"))
	f.endFlags(addGroup(&groups, "afterwards"))
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	for _, g := range groups {
		later(g.set, "name", "image", "workers", "framework", "max-restarts", "gpus", "cpu", "memory", "env", "image-pull-secret", "delivery", "data", "sync-source",
			"gang", "queue", "priority", "dry-run", "output", "wait", "logs", "timeout", "namespace")
	}
	bindGroups(cmd, groups)
}

func (f *submitFlags) whatFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringVar(&r.Name, "name", "", "the job's `NAME`")
	set.StringVar(&r.Image, "image", "", "`IMAGE` of its pods")
	set.BoolVar(&f.launcher, "launcher", false, "with a launcher, in which the output of all ranks comes together (default: as the command needs it)")
	set.BoolVar(&r.RankTags, "rank-tags", true, "each line of mpirun's output with its rank; --rank-tags=false: as it comes")
	set.IntVar(&r.PS, "ps", 0, "`N` parameter servers besides")
	set.BoolVar(&r.Chief, "chief", false, "a chief besides")
	set.BoolVar(&r.Evaluator, "evaluator", false, "an evaluator besides")
	set.StringVar(&r.Shell, "shell", "", "`SHELL` for a command of one word with blanks (default sh)")
	set.DurationVar(&r.ActiveFor, "active-deadline", 0, "the job fails when it has not ended after `TIME`")
	set.StringVar(&r.CleanPods, "clean-pods", "", "`WHICH` pods to delete at the end: Running (those that still run, the default), None, All")
}

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

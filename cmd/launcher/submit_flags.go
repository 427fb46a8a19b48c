package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

func (f *submitFlags) bind(cmd *cobra.Command) {
	var groups []group
	f.whatFlags(addGroup(&groups, "job"))
	f.podFlags(addGroup(&groups, "pods"))
	settings.Defaults(&f.request, settings.OfSubmit)
	settingFlags(&groups, settings.OfSubmit, &f.request)
	f.codeFlags(addGroup(&groups, "data and code"))
	f.schedulingFlags(addGroup(&groups, "scheduling"))
	f.endFlags(addGroup(&groups, "output and waiting"))
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	for _, g := range groups {
		later(g.set, "name", "image", "workers", "framework", "max-restarts", "gpus", "cpu", "memory", "env", "image-pull-secret", "delivery", "data", "sync-source",
			"gang", "queue", "priority", "dry-run", "output", "wait", "logs", "timeout", "namespace")
	}
	bindGroups(cmd, groups)
}

func (f *submitFlags) whatFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringVar(&r.Name, "name", "", "name the job `NAME`")
	set.StringVar(&r.Image, "image", "", "run pods with image `IMAGE`")
	set.BoolVar(&f.launcher, "launcher", false, "add a launcher, whose log has the output of all ranks (default: if the command needs one)")
	set.BoolVar(&r.RankTags, "rank-tags", true, "tag each line of mpirun's output with its rank")
	set.IntVar(&r.PS, "ps", 0, "add `N` parameter servers")
	set.BoolVar(&r.Chief, "chief", false, "add a chief")
	set.BoolVar(&r.Evaluator, "evaluator", false, "add an evaluator")
	set.StringVar(&r.Shell, "shell", "", "run a command of one word with spaces in `SHELL` (default sh)")
	set.DurationVar(&r.ActiveFor, "active-deadline", 0, "fail the job if it is still running after `TIME`")
	set.StringVar(&r.CleanPods, "clean-pods", "", "delete `WHICH` pods at the end: Running (default), None or All")
}

func (f *submitFlags) podFlags(set *pflag.FlagSet) {
	r := &f.request
	set.IntVar(&r.GPUs, "gpus", 0, "give each worker `N` GPUs (nvidia.com/gpu), and as many slots")
	set.IntVar(&r.Slots, "slots", 0, "give each worker `N` slots for ranks (default: its GPUs, else 1)")
	set.StringVar(&r.CPU, "cpu", "", "give each worker `AMOUNT` of CPU, as in 4 or 500m")
	set.StringVar(&r.Memory, "memory", "", "give each worker `AMOUNT` of memory, as in 16Gi")
	set.StringArrayVar(&r.Devices, "device", nil, "give each worker other devices `NAME=N`, as in amd.com/gpu=4; repeatable")
	set.BoolVar(&r.RDMA, "rdma", false, "give each worker one rdma/hca and the right to lock memory")
	set.StringVar(&r.ShmSize, "shm-size", "", "mount /dev/shm with `SIZE` (default: the pod's memory, if the framework needs it)")
	set.StringArrayVarP(&r.Env, "env", "e", nil, "set a variable, as `NAME=VALUE`; repeatable")
	set.StringArrayVar(&r.Labels, "label", nil, "set a label of job and pods, as `NAME=VALUE`; repeatable")
	set.StringArrayVarP(&r.Annotations, "annotation", "a", nil, "set an annotation of job and pods, as `NAME=VALUE`; repeatable")
	set.BoolVar(&r.Restricted, "restricted", false, "make pods that comply with Pod Security level restricted")
	set.Int64Var(&f.user, "run-as-user", 0, "run processes as user and group `UID` (default: the image's)")
	set.StringVar(&r.WorkingDir, "working-dir", "", "run in working directory `DIR` (default: the image's; /root with --sync-source)")
	set.StringVar(&r.ImagePullPolicy, "image-pull-policy", "", "pull images `WHEN`: Always, IfNotPresent or Never")
	set.StringArrayVar(&r.PullSecrets, "image-pull-secret", nil, "pull images with registry Secret `NAME`; repeatable")
	set.StringVar(&r.Delivery, "delivery", names.DefaultDelivery, "deliver the agent to pods by `HOW`: auto, init, imageVolume, baked (in the image)")
	set.StringVar(&r.AgentImage, "agent-image", "", "get the agent from `IMAGE` (default: the controller's release)")
}

func (f *submitFlags) codeFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringArrayVarP(&r.Data, "data", "d", nil, "mount a claim, as `PVC:PATH`; '' mounts none; repeatable")
	set.StringVar(&r.Sync, "sync-mode", "", "fetch code before the command starts, with `git`")
	set.StringVar(&r.SyncSource, "sync-source", "", "fetch repository `URL` to WORKING-DIR/code/REPOSITORY")
	set.StringVar(&r.SyncBranch, "sync-branch", "", "fetch `BRANCH` or a tag (default: the repository's; also --env GIT_SYNC_BRANCH=...)")
	set.StringVar(&r.SyncImage, "sync-image", "", "fetch with `IMAGE`, which has git and sh, or is git-sync (default: git-sync v4)")
	set.StringVar(&r.SyncSecret, "sync-secret", "", "log in with Secret `NAME` (username and password)")
}

func (f *submitFlags) schedulingFlags(set *pflag.FlagSet) {
	r := &f.request
	set.StringVar(&r.Gang, "gang", "", "start all pods or none, with `BACKEND`: auto, volcano (if none is given), coscheduling, kueue, workload")
	set.Lookup("gang").NoOptDefVal = "volcano"
	set.StringVar(&r.Queue, "queue", "", "use `QUEUE` of Volcano (also without --gang) or Kueue")
	set.StringVarP(&r.Priority, "priority", "p", "", "give pods priority `CLASS`")
	set.StringArrayVar(&r.Selectors, "selector", nil, "use nodes with `LABEL=VALUE`; repeatable")
	set.StringArrayVar(&r.Tolerations, "toleration", nil, "tolerate `TAINT`: all, KEY or KEY=VALUE, each optionally with :EFFECT; repeatable")
	set.BoolVar(&r.HostNetwork, "host-network", false, "use the host network")
	set.BoolVar(&r.HostNetwork, "hostNetwork", false, "")
	_ = set.MarkHidden("hostNetwork") // Arena's spelling
}

func (f *submitFlags) endFlags(set *pflag.FlagSet) {
	set.StringVar(&f.dryRun, "dry-run", "", "print the LaunchJob without creating it; `WHERE` is client (default) or server (validated by the API server)")
	set.Lookup("dry-run").NoOptDefVal = "client"
	set.StringVarP(&f.output, "output", "o", "", "print the job in `FORMAT`: json, yaml or name")
	set.BoolVar(&f.wait, "wait", false, "wait for the job and exit with its result; stderr shows why it does not run")
	set.BoolVarP(&f.logs, "logs", "f", false, "with --wait: print the job's log")
	set.DurationVar(&f.timeout, "timeout", 0, "with --wait: exit 75 after `TIME`; the job continues")
	set.StringArrayVar(&f.metrics, "metric", nil, "with --wait: collect `NAME[:RAW|PERCENTAGE]` from the job's log; repeatable")
	set.StringVar(&f.metricsFile, "metrics-file", "", "write metrics to `FILE` (default: mlpipeline-metrics.json)")
	set.BoolVar(&f.onSignal, "delete-on-signal", false, "with --wait: delete the job on SIGTERM and SIGINT (default: it continues)")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "print only warnings and errors")
}

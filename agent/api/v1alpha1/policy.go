package v1alpha1

// RestartPolicy says which failures are retried. Attempts start in place, in the existing pods; a lost pod is replaced.
type RestartPolicy struct {
	// Maximum number of restarts after a failure. Preemption, drain and eviction do not count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaxRestarts int32 `json:"maxRestarts,omitempty"`
	// Which failures are retried, as in agent run --restart-on: exit codes, lost, infra, oom, hang, stall, any; +1,-143 changes the default 130,137,143,lost,infra.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+-]?([1-9][0-9]{0,2}|lost|infra|oom|hang|stall|any)(,[+-]?([1-9][0-9]{0,2}|lost|infra|oom|hang|stall|any))*$')",message="want exit codes (1 to 255), lost, infra, oom, hang, stall or any, as in 137,lost; +1,-143 changes the default"
	RestartOn string `json:"restartOn,omitempty"`
	// Rules that decide before restartOn, as in agent run --restart-policy. The first rule that matches decides.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Rules []RestartRule `json:"rules,omitempty"`
	// A limit by time besides maxRestarts: 6/1h allows six restarts in an hour.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,5}/[1-9][0-9]*(s|m|h)$')",message="want NUMBER/TIME, as in 6/1h"
	MaxRestartsPer string `json:"maxRestartsPer,omitempty"`
	// The job ends with 93 after this many attempts in a row without progress: by the number of an expect rule, progressFile, or time of life. Default: 3 with progressFile, else never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxNoProgress int32 `json:"maxNoProgress,omitempty"`
	// An attempt makes progress if it writes a file that matches this glob: /data/ckpt/*.pt. It is looked up in the launcher if the command runs there, else on the worker of rank 0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ProgressFile string `json:"progressFile,omitempty"`
	// Maximum number of nodes that new pods avoid because pods failed there twice in the same way: lost with the node, failed preflight, broken device. 0: none. Default: one for every four pods, at least 1 and at most 8.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	MaxExcludedNodes *int32 `json:"maxExcludedNodes,omitempty"`
}

// RestartRule says what to do after a failure. A rule with several conditions needs all of them, and a list matches any of its entries. A rule without conditions matches every failure.
type RestartRule struct {
	// Exit codes of the attempt; a signal is 128 plus its number.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// Signals that ended the process which failed first: KILL or SIGKILL.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=16
	// +kubebuilder:validation:items:Pattern=`^(SIG)?(HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|KILL|USR1|SEGV|USR2|PIPE|ALRM|TERM|STKFLT|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|PWR|SYS)$`
	Signals []string `json:"signals,omitempty"`
	// Causes: oom (memory), lost (a worker), infra (of Muster), preflight (a check before the start), device (broken hardware), hang, stall (a progress rule), drain (also eviction and preemption).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=oom;lost;infra;preflight;device;hang;stall;drain
	Causes []string `json:"causes,omitempty"`
	// A regular expression (RE2) for one of the last lines of the process that failed first: its standard error, or all output of a command in the launcher.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) in [true, false]",message="output is not a regular expression"
	Output string `json:"output,omitempty"`
	// The container in which that process ran: the worker's, or the launcher's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// What to do. Restart: start the next attempt in place. ReplaceWorker: also replace the pod of the worker where the failure began. RestartPods: also replace the pods of all workers. Fail: no restart. Ignore: Restart, but maxRestarts does not count it.
	// +kubebuilder:validation:Enum=Restart;ReplaceWorker;RestartPods;Fail;Ignore
	Action string `json:"action"`
}

// ProgressRule is a rule for the job's output lines, like --expect and --fail-on of agent run.
//
// +kubebuilder:validation:XValidation:rule="has(self.expect) != has(self.failOn)",message="a progress rule must have either expect or failOn"
// +kubebuilder:validation:XValidation:rule="!has(self.expect) || has(self.within) || has(self.firstWithin)",message="expect requires within or firstWithin"
// +kubebuilder:validation:XValidation:rule="!has(self.failOn) || !has(self.within) && !has(self.firstWithin) && !has(self.by)",message="failOn cannot be used with within, firstWithin or by: it fires at once"
type ProgressRule struct {
	// A regular expression (RE2): lines that match must keep coming, and a number that it captures must grow: step (\d+).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) in [true, false]",message="expect is not a regular expression"
	Expect string `json:"expect,omitempty"`
	// Longest time between two lines that count: 10m.
	// +optional
	Within *Time `json:"within,omitempty"`
	// Longest time until the first line. Default: the same as within.
	// +optional
	FirstWithin *Time `json:"firstWithin,omitempty"`
	// Scope of the rule: job (a line of any rank counts), or rank (each rank needs its own).
	// +optional
	// +kubebuilder:validation:Enum=job;rank
	By string `json:"by,omitempty"`
	// A regular expression that no line may match: loss.*nan.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) in [true, false]",message="failOn is not a regular expression"
	FailOn string `json:"failOn,omitempty"`
	// What to do when the rule is broken: report (the default of expect), or stop (the default of failOn). A stopped run ends with 79, and is restarted if restartOn has stall.
	// +optional
	// +kubebuilder:validation:Enum=report;stop
	Action string `json:"action,omitempty"`
}

// Elastic limits the number of workers of a job whose workers may join and leave.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="elastic.min is more than elastic.max"
type Elastic struct {
	// Smallest number of workers with which the run starts and continues.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Min int32 `json:"min"`
	// Largest number of workers that take part.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Max int32 `json:"max"`
}

// RunPolicy says when a job starts, how long it may run, and what is deleted afterwards.
type RunPolicy struct {
	// If true, the job has no pods. Setting it during a run deletes them.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// The job fails if it has not ended after this many seconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// The job is deleted this many seconds after its end. Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// CleanPodPolicy says which pods are deleted at the end: None, those that are still Running, or All. Running keeps a pod in which only sidecars run, because the kubelet stops these.
	// +optional
	// +kubebuilder:validation:Enum=None;Running;All
	// +kubebuilder:default=Running
	CleanPodPolicy string `json:"cleanPodPolicy,omitempty"`
	// Maximum number of times a failed job is restarted with new pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	BackoffLimit int32 `json:"backoffLimit,omitempty"`
}

// Gang schedules the pods together or not at all.
//
// +kubebuilder:validation:XValidation:rule="self.backend != 'kueue' || has(self.queue)",message="gang.backend kueue requires gang.queue, the name of a LocalQueue"
// +kubebuilder:validation:XValidation:rule="!has(self.queue) || self.backend in ['volcano','kueue','auto']",message="gang.queue works only with gang.backend volcano, kueue or auto"
// +kubebuilder:validation:XValidation:rule="!has(self.topology) || self.backend == 'volcano'",message="gang.topology works only with gang.backend volcano"
// +kubebuilder:validation:XValidation:rule="!has(self.minMember) || self.backend in ['volcano','coscheduling','workload'] || self.backend == 'auto' && !has(self.queue)",message="gang.minMember works only with gang.backend volcano, coscheduling, workload, or auto without gang.queue; Kueue admits all pods of a group"
// +kubebuilder:validation:XValidation:rule="self.backend != 'none' || !has(self.priorityClassName) && !has(self.schedulerName)",message="gang.backend none cannot be used with priorityClassName or schedulerName: set them in the pod templates"
type Gang struct {
	// The gang scheduler. volcano and coscheduling create a PodGroup, workload uses that of Kubernetes (1.36 and later), kueue creates a Workload of Kueue, and pods when Kueue admits it. auto takes the first of these: kueue if the job names a queue, the one that a template asks for, workload, volcano, coscheduling, none.
	// +kubebuilder:validation:Enum=none;auto;volcano;coscheduling;kueue;workload
	Backend string `json:"backend"`
	// The queue of Volcano, or the name of a LocalQueue of Kueue.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Queue string `json:"queue,omitempty"`
	// The priority class of the gang, and of the pods whose templates name none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// How many pods must fit at once, including the launcher. Default: all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinMember *int32 `json:"minMember,omitempty"`
	// The scheduler to use. Default: volcano; for coscheduling scheduler-plugins-scheduler; for others the pods' own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SchedulerName string `json:"schedulerName,omitempty"`
	// Which roles share a node (Volcano's task topology).
	// +optional
	Topology *Topology `json:"topology,omitempty"`
}

// Topology is Volcano's task topology: lists of roles, as in "ps,worker;ps,evaluator".
type Topology struct {
	// Groups of roles whose pods share a node.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Affinity string `json:"affinity,omitempty"`
	// Groups of roles whose pods are kept on different nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AntiAffinity string `json:"antiAffinity,omitempty"`
	// Groups of roles in the order in which their pods are placed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Order string `json:"order,omitempty"`
}

// Agent says how the agent gets into the pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.image) || self.delivery != 'baked'",message="agent.image cannot be used with agent.delivery baked: the agent is in the job's own image"
type Agent struct {
	// How the agent gets into the pods. init: an init container copies it into a volume. imageVolume: the agent's image is a volume (Kubernetes 1.35 and later). baked: the pod's own image has it at /muster/agent. auto: imageVolume if all nodes can mount images, else init.
	// +optional
	// +kubebuilder:validation:Enum=auto;baked;init;imageVolume
	// +kubebuilder:default=auto
	Delivery string `json:"delivery,omitempty"`
	// The agent's image. Default: that of the controller's release.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// AgentBy returns how an image brings the agent, or nil for the default way and image. It leaves out the
// delivery auto, which is the default, because the CRD of an older release rejects it.
func AgentBy(delivery, image string) *Agent {
	if delivery == "auto" {
		delivery = ""
	}
	if delivery == "" && image == "" {
		return nil
	}
	return &Agent{Delivery: delivery, Image: image}
}

// Preflight says which checks of workers and their network run before ranks start. At a restart only new workers are checked.
type Preflight struct {
	// What to do with what is found: off (check nothing), warn (the default), or fail, which ends the job with 76.
	// +optional
	// +kubebuilder:validation:Enum=off;warn;fail
	Mode string `json:"mode,omitempty"`
	// A shell command that runs on each worker. A nonzero exit code is a failed check.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Command string `json:"command,omitempty"`
	// A shell command that runs as a small job on all workers, one process each, with the variables of the framework: an all-reduce test.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	GroupCommand string `json:"groupCommand,omitempty"`
	// How long each of these commands may take: 2m. Then it is killed, and the check has failed.
	// +optional
	Timeout *Time `json:"timeout,omitempty"`
}

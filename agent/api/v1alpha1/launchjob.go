package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LaunchJob is one distributed run: a launcher and its workers, or members that
// need no launcher.
//
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=muster"
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=launchjobs,singular=launchjob,shortName=lj,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.workers,statuspath=.status.workers,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.attempt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Goodput",type=string,priority=1,JSONPath=`.status.goodput`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name has at most 40 lowercase letters, digits and dashes, and starts with a letter: pods and the Service are named after it"
type LaunchJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LaunchJobSpec `json:"spec"`
	// +optional
	Status LaunchJobStatus `json:"status,omitempty"`
}

// LaunchJobList is a list of LaunchJobs.
//
// +kubebuilder:object:root=true
type LaunchJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LaunchJob `json:"items"`
}

// LaunchJobSpec is the desired state of a LaunchJob.
//
// +kubebuilder:validation:XValidation:rule="self.roles.exists(r, r.name == 'worker') == has(self.workers)",message="workers is the number of pods of the role worker: set both or neither"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.framework) || !(self.framework in ['mpi','openmpi','mpich','intelmpi'])",message="MPI requires a launcher, where mpirun runs: set spec.launcher"
// +kubebuilder:validation:XValidation:rule="!has(self.procsPerWorker) || !has(self.framework) || !(self.framework in ['mpi','openmpi','mpich','intelmpi'])",message="procsPerWorker does not work with MPI: set slots to the number of ranks that mpirun places on a worker"
// +kubebuilder:validation:XValidation:rule="!has(self.launcher) || !has(self.launcher.slots) || self.launcher.slots == 0 || !has(self.framework) || !(self.framework in ['jax','lightgbm','mxnet','paddle','plain','ray','tensorflow','torch','xgboost'])",message="launcher.slots works only with MPI: only mpirun starts ranks in the launcher"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.elastic)",message="elastic requires a launcher: without one, the number of members is fixed"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || size(self.roles) == 1 && has(self.workers)",message="an elastic job has only the role worker"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || !has(self.workers) || self.elastic.min <= self.workers && self.workers <= self.elastic.max",message="workers must be between elastic.min and elastic.max"
// +kubebuilder:validation:XValidation:rule="!has(self.spares) || self.spares == 0 || has(self.launcher)",message="spares require a launcher: without one, no pod can replace a member"
// +kubebuilder:validation:XValidation:rule="!has(self.spares) || self.spares == 0 || !has(self.elastic)",message="spares cannot be used with elastic: an elastic job continues with the workers that are left"
// +kubebuilder:validation:XValidation:rule="!has(self.spares) || self.spares == 0 || size(self.roles) == 1 && has(self.workers)",message="spares replace only pods of the role worker: a job with spares has no other role"
// +kubebuilder:validation:XValidation:rule="!has(self.spares) || self.spares == 0 || !has(self.compat)",message="spares cannot be used with compat: its host names fix which worker has which rank"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.discovery) || self.discovery == 'label'",message="discovery names requires a launcher: a job without one does not use the API server"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.hangAfter)",message="hangAfter requires a launcher: without one, no pod sees all members"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.exitWithin)",message="exitWithin requires a launcher: without one, no pod sees all members"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.preflight)",message="preflight requires a launcher: without one, no pod sees all members"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.progress)",message="progress requires a launcher: without one, no pod sees the output of all members"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.restartPolicy) || !has(self.restartPolicy.rules) && !has(self.restartPolicy.maxRestartsPer) && !has(self.restartPolicy.maxNoProgress) && !has(self.restartPolicy.progressFile)",message="rules, maxRestartsPer, maxNoProgress and progressFile of restartPolicy require a launcher: a job without one has maxRestarts and restartOn"
// +kubebuilder:validation:XValidation:rule="!has(self.restartPolicy) || has(self.restartPolicy.maxRestarts) && self.restartPolicy.maxRestarts > 0 || !has(self.restartPolicy.rules) && !has(self.restartPolicy.maxRestartsPer) && !has(self.restartPolicy.maxNoProgress) && !has(self.restartPolicy.progressFile)",message="rules, maxRestartsPer, maxNoProgress and progressFile of restartPolicy require maxRestarts: without it nothing restarts"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.topologyKeys)",message="topologyKeys requires a launcher: without one, the number of a pod is its rank"
// +kubebuilder:validation:XValidation:rule="!has(self.topologyKeys) || size(self.topologyKeys) == 1 || !self.topologyKeys.exists(k, k == 'none')",message="topologyKeys: none cannot be used together with keys"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.requireRDMA) || !self.requireRDMA",message="requireRDMA requires a launcher: without one, no pod sees the output of all members"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) || !has(self.transport) || self.transport == 'exec'",message="transport network or auto requires a launcher: members of a job without one always use the pod network"
// +kubebuilder:validation:XValidation:rule="!has(self.success) || self.success in ['auto','all','any'] || self.roles.exists(r, self.success == r.name || self.success.startsWith(r.name + ':') && self.success.substring(size(r.name) + 1).matches('^[0-9]{1,5}$') && (has(self.elastic) || int(self.success.substring(size(r.name) + 1)) < (has(r.replicas) ? r.replicas : r.name == 'worker' && has(self.workers) ? self.workers : 1)))",message="success must be auto, all, any, a role, or ROLE:INDEX as in worker:0, and the role or pod must exist"
// +kubebuilder:validation:XValidation:rule="(has(self.workers) ? self.workers : 0) + self.roles.map(r, has(r.replicas) ? r.replicas : r.name == 'worker' ? 0 : 1).sum() > 0",message="no workers: set spec.workers or a role's replicas to at least 1"
// +kubebuilder:validation:XValidation:rule="(has(self.workers) ? self.workers : 0) + (has(self.spares) ? self.spares : 0) + self.roles.map(r, has(r.replicas) ? r.replicas : r.name == 'worker' ? 0 : 1).sum() <= 10000",message="too many workers: workers, spares and replicas of all roles add up to more than 10000"
// +kubebuilder:validation:XValidation:rule="!has(self.gang) || !has(self.gang.minMember) || self.gang.minMember <= (has(self.launcher) ? 1 : 0) + (has(self.workers) ? self.workers : 0) + self.roles.map(r, has(r.replicas) ? r.replicas : r.name == 'worker' ? 0 : 1).sum()",message="gang.minMember is more than the number of pods, including the launcher: the gang could never start"
// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",message="managedBy cannot be changed"
// +kubebuilder:validation:XValidation:rule="has(self.launcher) == has(oldSelf.launcher)",message="a launcher cannot be added to or removed from a job: create a new job"
// +kubebuilder:validation:XValidation:rule="!has(self.workers) || !has(oldSelf.workers) || self.workers == oldSelf.workers || has(self.elastic) || has(oldSelf.runPolicy) && has(oldSelf.runPolicy.suspend) && oldSelf.runPolicy.suspend",message="workers can be changed only in an elastic job, or while the job is suspended (runPolicy.suspend)"
// +kubebuilder:validation:XValidation:rule="self.roles.map(r, r.name) == oldSelf.roles.map(r, r.name)",message="the roles of a job cannot be changed: create a new job"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.runPolicy) && has(oldSelf.runPolicy.suspend) && oldSelf.runPolicy.suspend || has(self.framework) == has(oldSelf.framework) && (!has(self.framework) || self.framework == oldSelf.framework) && has(self.compat) == has(oldSelf.compat) && (!has(self.compat) || self.compat == oldSelf.compat) && has(self.slots) == has(oldSelf.slots) && (!has(self.slots) || self.slots == oldSelf.slots) && has(self.procsPerWorker) == has(oldSelf.procsPerWorker) && (!has(self.procsPerWorker) || self.procsPerWorker == oldSelf.procsPerWorker) && has(self.success) == has(oldSelf.success) && (!has(self.success) || self.success == oldSelf.success) && has(self.discovery) == has(oldSelf.discovery) && (!has(self.discovery) || self.discovery == oldSelf.discovery) && has(self.hangAfter) == has(oldSelf.hangAfter) && (!has(self.hangAfter) || self.hangAfter == oldSelf.hangAfter) && has(self.topologyKeys) == has(oldSelf.topologyKeys) && (!has(self.topologyKeys) || self.topologyKeys == oldSelf.topologyKeys) && has(self.requireRDMA) == has(oldSelf.requireRDMA) && (!has(self.requireRDMA) || self.requireRDMA == oldSelf.requireRDMA) && has(self.exitWithin) == has(oldSelf.exitWithin) && (!has(self.exitWithin) || self.exitWithin == oldSelf.exitWithin) && has(self.progress) == has(oldSelf.progress) && (!has(self.progress) || self.progress == oldSelf.progress) && has(self.reportProgress) == has(oldSelf.reportProgress) && (!has(self.reportProgress) || self.reportProgress == oldSelf.reportProgress) && has(self.preflight) == has(oldSelf.preflight) && (!has(self.preflight) || self.preflight == oldSelf.preflight) && has(self.shm) == has(oldSelf.shm) && (!has(self.shm) || self.shm == oldSelf.shm) && self.roles.all(r, oldSelf.roles.exists(o, o.name == r.name && has(o.replicas) == has(r.replicas) && (!has(r.replicas) || r.replicas == o.replicas)))",message="while a job runs, only runPolicy can be changed, and workers if it is elastic: suspend it first (runPolicy.suspend), or create a new job"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.runPolicy) && has(oldSelf.runPolicy.suspend) && oldSelf.runPolicy.suspend || has(self.restartPolicy) == has(oldSelf.restartPolicy) && (!has(self.restartPolicy) || has(self.restartPolicy.maxRestarts) == has(oldSelf.restartPolicy.maxRestarts) && (!has(self.restartPolicy.maxRestarts) || self.restartPolicy.maxRestarts == oldSelf.restartPolicy.maxRestarts) && has(self.restartPolicy.restartOn) == has(oldSelf.restartPolicy.restartOn) && (!has(self.restartPolicy.restartOn) || self.restartPolicy.restartOn == oldSelf.restartPolicy.restartOn)) && has(self.elastic) == has(oldSelf.elastic) && (!has(self.elastic) || has(self.elastic.min) == has(oldSelf.elastic.min) && (!has(self.elastic.min) || self.elastic.min == oldSelf.elastic.min) && has(self.elastic.max) == has(oldSelf.elastic.max) && (!has(self.elastic.max) || self.elastic.max == oldSelf.elastic.max)) && has(self.agent) == has(oldSelf.agent) && (!has(self.agent) || has(self.agent.delivery) == has(oldSelf.agent.delivery) && (!has(self.agent.delivery) || self.agent.delivery == oldSelf.agent.delivery) && has(self.agent.image) == has(oldSelf.agent.image) && (!has(self.agent.image) || self.agent.image == oldSelf.agent.image)) && has(self.gang) == has(oldSelf.gang) && (!has(self.gang) || has(self.gang.backend) == has(oldSelf.gang.backend) && (!has(self.gang.backend) || self.gang.backend == oldSelf.gang.backend) && has(self.gang.queue) == has(oldSelf.gang.queue) && (!has(self.gang.queue) || self.gang.queue == oldSelf.gang.queue) && has(self.gang.priorityClassName) == has(oldSelf.gang.priorityClassName) && (!has(self.gang.priorityClassName) || self.gang.priorityClassName == oldSelf.gang.priorityClassName) && has(self.gang.minMember) == has(oldSelf.gang.minMember) && (!has(self.gang.minMember) || self.gang.minMember == oldSelf.gang.minMember) && has(self.gang.schedulerName) == has(oldSelf.gang.schedulerName) && (!has(self.gang.schedulerName) || self.gang.schedulerName == oldSelf.gang.schedulerName))",message="while a job runs, only runPolicy can be changed, and workers if it is elastic: suspend it first (runPolicy.suspend), or create a new job"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.runPolicy) && has(oldSelf.runPolicy.suspend) && oldSelf.runPolicy.suspend || has(self.spares) == has(oldSelf.spares) && (!has(self.spares) || self.spares == oldSelf.spares) && has(self.transport) == has(oldSelf.transport) && (!has(self.transport) || self.transport == oldSelf.transport)",message="while a job runs, only runPolicy can be changed, and workers if it is elastic: suspend it first (runPolicy.suspend), or create a new job"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.runPolicy) && has(oldSelf.runPolicy.suspend) && oldSelf.runPolicy.suspend || !has(self.restartPolicy) || !has(oldSelf.restartPolicy) || has(self.restartPolicy.rules) == has(oldSelf.restartPolicy.rules) && (!has(self.restartPolicy.rules) || self.restartPolicy.rules == oldSelf.restartPolicy.rules) && has(self.restartPolicy.maxRestartsPer) == has(oldSelf.restartPolicy.maxRestartsPer) && (!has(self.restartPolicy.maxRestartsPer) || self.restartPolicy.maxRestartsPer == oldSelf.restartPolicy.maxRestartsPer) && has(self.restartPolicy.maxNoProgress) == has(oldSelf.restartPolicy.maxNoProgress) && (!has(self.restartPolicy.maxNoProgress) || self.restartPolicy.maxNoProgress == oldSelf.restartPolicy.maxNoProgress) && has(self.restartPolicy.progressFile) == has(oldSelf.restartPolicy.progressFile) && (!has(self.restartPolicy.progressFile) || self.restartPolicy.progressFile == oldSelf.restartPolicy.progressFile)",message="while a job runs, only runPolicy can be changed, and workers if it is elastic: suspend it first (runPolicy.suspend), or create a new job"
// +kubebuilder:validation:XValidation:rule="!has(self.gang) || !has(self.gang.topology) || (!has(self.gang.topology.affinity) || self.gang.topology.affinity.split(';').all(g, g.split(',').all(n, n == 'launcher' || self.roles.exists(r, r.name == n)))) && (!has(self.gang.topology.antiAffinity) || self.gang.topology.antiAffinity.split(';').all(g, g.split(',').all(n, n == 'launcher' || self.roles.exists(r, r.name == n)))) && (!has(self.gang.topology.order) || self.gang.topology.order.split(';').all(g, g.split(',').all(n, n == 'launcher' || self.roles.exists(r, r.name == n))))",message="gang.topology names a role that the job does not have: want roles of the job, as in ps,worker;ps,evaluator"
type LaunchJobSpec struct {
	// The framework, as in agent run --framework. Default: detected from the command.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.startsWith('plugin:') || self in ['auto','deepspeed','horovod','intelmpi','jax','lightgbm','mpi','mpich','mxnet','openmpi','paddle','plain','ray','tensorflow','torch','xgboost']",message="unknown framework: want auto, deepspeed, horovod, intelmpi, jax, lightgbm, mpi, mpich, mxnet, openmpi, paddle, plain, ray, tensorflow, torch, xgboost, or plugin:NAME"
	Framework string `json:"framework,omitempty"`
	// The environment, Services and labels of the pods exactly as another operator made them, including its faults, as in agent run --compat.
	// +optional
	// +kubebuilder:validation:Enum=kubeflow-v1
	Compat string `json:"compat,omitempty"`
	// How many pods the role named worker has. kubectl scale changes it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Workers *int32 `json:"workers,omitempty"`
	// How many extra pods the role worker has in reserve, to replace workers that fail, as in agent run --spares.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Spares int32 `json:"spares,omitempty"`
	// Slots of each worker: how many ranks mpirun puts there.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	Slots int32 `json:"slots,omitempty"`
	// Processes to start on each worker, if Muster starts them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	ProcsPerWorker *int32 `json:"procsPerWorker,omitempty"`
	// The pod in which the command runs. Without it the roles run agent join.
	// +optional
	Launcher *Launcher `json:"launcher,omitempty"`
	// The pods besides the launcher, in the order of their ranks.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Roles []Role `json:"roles"`
	// The success rule, which says whose exit code decides: auto (the framework's rule), all, any, ROLE, ROLE:INDEX.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Success string `json:"success,omitempty"`
	// +optional
	RestartPolicy *RestartPolicy `json:"restartPolicy,omitempty"`
	// +optional
	Elastic *Elastic `json:"elastic,omitempty"`
	// +optional
	RunPolicy *RunPolicy `json:"runPolicy,omitempty"`
	// +optional
	Gang *Gang `json:"gang,omitempty"`
	// +optional
	Agent *Agent `json:"agent,omitempty"`
	// How the launcher finds its workers: label (it may list the namespace's pods), names (it may read only its own pods).
	// +optional
	// +kubebuilder:validation:Enum=label;names
	// +kubebuilder:default=label
	Discovery string `json:"discovery,omitempty"`
	// How the launcher reaches its workers: exec (pods/exec, the default), network (TCP to their pods, and exec if that fails), or auto (network if the launcher has a key). With network and auto the controller creates the keys.
	// +optional
	// +kubebuilder:validation:Enum=exec;network;auto
	Transport string `json:"transport,omitempty"`
	// The node labels by which ranks are ordered, from coarse to fine, so that neighbors on the network have neighboring ranks. none: by the number of the pod. Default: region, zone, switches and NVLink domain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	TopologyKeys []TopologyKey `json:"topologyKeys,omitempty"`
	// Whether to stop the run with exit code 76 if NCCL prints that it falls back to sockets.
	// +optional
	RequireRDMA bool `json:"requireRDMA,omitempty"`
	// How long a run may use no CPU and print nothing before it counts as hung: 10m.
	// +optional
	HangAfter *Time `json:"hangAfter,omitempty"`
	// How long other ranks may run after the first one exited with 0, before the run is stopped: 5m. Default: forever.
	// +optional
	ExitWithin *Time `json:"exitWithin,omitempty"`
	// Rules for output lines that must keep coming (expect) or must not come (failOn).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Progress []ProgressRule `json:"progress,omitempty"`
	// Whether programs in all pods may report how far they are, as Hugging Face's KubeflowCallback does. The launcher reports without this if progress has a rule with numbers.
	// +optional
	ReportProgress bool `json:"reportProgress,omitempty"`
	// +optional
	Preflight *Preflight `json:"preflight,omitempty"`
	// Size of /dev/shm in the workers, as a memory volume; 0: the runtime's 64Mi. Default: what the framework needs.
	// +optional
	Shm *Size `json:"shm,omitempty"`
	// The controller that creates the pods. If it is not Muster's, Muster ignores the job. With kueue.x-k8s.io/multikueue the job runs on another cluster, and Muster keeps only its Workload of Kueue.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManagedBy *string `json:"managedBy,omitempty"`
}

// Time is a duration.
//
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]*(s|m|h)$')",message="want a time such as 90s, 10m or 1h"
type Time string

// TopologyKey is the key of a node label.
//
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="want the key of a node label, as in topology.kubernetes.io/zone"
type TopologyKey string

// Size is an amount of memory.
//
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).compareTo(quantity('0')) >= 0",message="want a size such as 512Mi or 8Gi; 0 keeps the default"
type Size string

// Launcher is the pod in which the command runs.
//
// +kubebuilder:validation:XValidation:rule="has(self.template.spec) && size(self.template.spec.containers) > 0",message="the launcher's template has no container"
// +kubebuilder:validation:XValidation:rule="!has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy == 'Never'",message="restartPolicy of a pod must be Never or omitted: the agent, not the kubelet, restarts processes (spec.restartPolicy)"
type Launcher struct {
	// The container that is the launcher. Default: the one that kubectl.kubernetes.io/default-container names, else the first.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// Number of ranks that mpirun starts in the launcher, before those in the workers. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4096
	Slots int32 `json:"slots,omitempty"`
	// The launcher's pod, as in a Job.
	Template corev1.PodTemplateSpec `json:"template"`
}

// Role is a set of identical pods.
//
// +kubebuilder:validation:XValidation:rule="self.name != 'launcher'",message="a role cannot be named launcher: set spec.launcher"
// +kubebuilder:validation:XValidation:rule="size(self.name) <= 16 && self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a role's name has at most 16 lowercase letters, digits and dashes, and starts with a letter: pods are named JOB-ROLE-0"
// +kubebuilder:validation:XValidation:rule="self.name != 'worker' || !has(self.replicas)",message="set spec.workers instead of replicas of the role worker: kubectl scale changes spec.workers"
// +kubebuilder:validation:XValidation:rule="has(self.template.spec) && size(self.template.spec.containers) > 0",message="the role's template has no container"
// +kubebuilder:validation:XValidation:rule="!has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy == 'Never'",message="restartPolicy of a pod must be Never or omitted: the agent, not the kubelet, restarts processes (spec.restartPolicy)"
type Role struct {
	// Name of the role: worker, or a framework's own: chief, master, ps, evaluator.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Number of pods. Default: 1; for worker: spec.workers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// The container that is the worker. Default: the one that kubectl.kubernetes.io/default-container names, else the first.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// The pods of the role, as in a Job.
	Template corev1.PodTemplateSpec `json:"template"`
}

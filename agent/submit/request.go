package submit

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/progress"
)

// Request is a command line of submit.
type Request struct {
	Kind    string   // Arena's kind of job: mpi, tfjob, pytorch...; may be empty
	Command []string // the words of the command, or one line for Shell

	Name, Namespace     string
	Image               string
	ImagePullPolicy     string
	Workers             int    `flag:"workers"`
	GPUs                int    // of each worker; also the default of its slots
	Slots               int    // of each worker; 0: its GPUs, else 1
	CPU, Memory         string // of each worker
	Devices             []string
	Env                 []string
	Data                []string
	Labels, Annotations []string

	Sync       string // --sync-mode
	SyncSource string
	SyncBranch string
	SyncImage  string
	SyncSecret string

	RDMA        bool
	ShmSize     string
	HostNetwork bool
	Restricted  bool   // as Pod Security "restricted" requires
	RunAsUser   *int64 // nil: the image's own
	Priority    string
	Tolerations []string
	Selectors   []string
	PullSecrets []string
	Gang        string // a backend; "": none
	Queue       string

	PS        int
	Chief     bool
	Evaluator bool

	WorkingDir string
	Shell      string
	Framework  string `flag:"framework"`
	Launcher   *bool  // nil: as the framework needs it
	RankTags   bool   // put the rank before each line of mpirun's output
	Delivery   string
	AgentImage string
	Restarts
	Success     string          `flag:"success"`
	HangAfter   time.Duration   `flag:"hang-after"`
	Preflight   string          `flag:"preflight"`
	Check       string          `flag:"preflight-command"`
	GroupCheck  string          `flag:"preflight-group-command"`
	CheckTime   time.Duration   `flag:"preflight-timeout"`
	HangAction  string          `flag:"hang-action"`
	ExitWithin  time.Duration   `flag:"exit-within"`
	Topology    []string        `flag:"topology-keys"`
	RequireRDMA bool            `flag:"require-rdma"`
	Transport   string          `flag:"transport"`
	Progress    []progress.Word `flag:"progress"` // flags of progress rules, in their order
	ActiveFor   time.Duration   // --active-deadline
	CleanPods   string
	Run         Run
}

// Job returns the object. Errors are *failure.Failure with exit code 64.
func (r Request) Job() (*v1alpha1.LaunchJob, error) {
	r.Framework = framework.Spelled(r.Framework)
	if err := r.validate(); err != nil {
		return nil, err
	}
	w, err := r.work()
	if err != nil {
		return nil, err
	}
	p, err := r.parts()
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.LaunchJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.Version().String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace, Labels: p.labels, Annotations: p.annotations},
		Spec: v1alpha1.LaunchJobSpec{
			Framework: w.framework,
			Gang:      r.gang(),
			Agent:     v1alpha1.AgentBy(r.Delivery, r.AgentImage),
			RunPolicy: r.runPolicy(),
			Roles:     p.roles(r, w),
		},
	}
	if r.Workers > 0 {
		job.Spec.Workers = new(int32(r.Workers))
	}
	if n := r.slots(); n > 1 {
		job.Spec.Slots = int32(n)
	}
	if w.perGPU && r.GPUs > 1 {
		job.Spec.ProcsPerWorker = new(int32(r.slots()))
	}
	if w.launcher {
		job.Spec.Launcher = &v1alpha1.Launcher{Template: p.launcher(r, w)}
	}
	if r.ShmSize != "" {
		job.Spec.Shm = new(v1alpha1.Size(r.ShmSize))
	}
	if err := r.restarts(job); err != nil {
		return nil, err
	}
	job.Spec.Success = r.Success
	if err := r.Run.apply(job); err != nil {
		return nil, err
	}
	if err := r.progress(job); err != nil {
		return nil, err
	}
	if err := r.hang(job); err != nil {
		return nil, err
	}
	if err := r.network(job); err != nil {
		return nil, err
	}
	if err := r.preflight(job); err != nil {
		return nil, err
	}
	return job, r.exitWithin(job)
}

// network sets the way to the workers, the node labels for the order of ranks, and whether NCCL needs
// RDMA.
func (r Request) network(job *v1alpha1.LaunchJob) error {
	if r.Transport != "" && r.Transport != "exec" && job.Spec.Launcher == nil {
		return failure.Usage("--launcher adds one", "--transport=%s requires a launcher: members of a job without one always use the pod network", r.Transport)
	}
	job.Spec.Transport = r.Transport
	if r.RequireRDMA && job.Spec.Launcher == nil {
		return failure.Usage("--launcher adds one", "--require-rdma requires a launcher: without one, no pod sees the output of all members")
	}
	job.Spec.RequireRDMA = r.RequireRDMA
	if len(r.Topology) > 0 && job.Spec.Launcher == nil {
		return failure.Usage("--launcher adds one", "--topology-keys requires a launcher: without one, the number of a pod is its rank")
	}
	for _, key := range r.Topology {
		job.Spec.TopologyKeys = append(job.Spec.TopologyKeys, v1alpha1.TopologyKey(key))
	}
	return nil
}

// progress sets the job's rules for output lines.
func (r Request) progress(job *v1alpha1.LaunchJob) error {
	rules, err := progress.Read(r.Progress)
	var bad *progress.RuleError
	switch {
	case errors.As(err, &bad):
		return failure.Usage(bad.Hint(), "%w", err)
	case err != nil:
		return err
	case len(rules) > 0 && job.Spec.Launcher == nil:
		return failure.Usage("--launcher adds one", "--%s requires a launcher: without one, no pod sees the output of all members", r.Progress[0].Flag)
	}
	for _, rule := range rules {
		one := v1alpha1.ProgressRule{Expect: rule.Expect, FailOn: rule.FailOn, Within: timeOf(rule.Within), FirstWithin: timeOf(rule.FirstWithin)}
		if rule.ByRank {
			one.By = "rank"
		}
		if rule.Stop != (rule.FailOn != "") {
			one.Action = map[bool]string{true: "stop", false: "report"}[rule.Stop]
		}
		job.Spec.Progress = append(job.Spec.Progress, one)
	}
	return nil
}

// timeOf returns a duration in whole seconds, as in an object; nil for 0.
func timeOf(d time.Duration) *v1alpha1.Time {
	if d == 0 {
		return nil
	}
	return new(v1alpha1.Time(fmt.Sprintf("%ds", int64(d.Seconds()))))
}

// hang sets what counts as a hang, and what follows.
func (r Request) hang(job *v1alpha1.LaunchJob) error {
	switch {
	case r.HangAfter == 0 && r.HangAction == "stop":
		return failure.Usage("--hang-after=10m sets when a job hangs", "--hang-action=stop requires --hang-after: the default of agent run only reports")
	case r.HangAfter == 0:
		return nil
	case r.HangAfter < time.Second:
		return failure.Usage("--hang-after=10m", "--hang-after=%s: must be at least 1s", r.HangAfter)
	case job.Spec.Launcher == nil:
		return failure.Usage("--launcher adds one", "--hang-after requires a launcher: without one, no pod sees all members")
	}
	job.Spec.HangAfter = timeOf(r.HangAfter)
	if r.HangAction != "" {
		c := &job.Spec.Launcher.Template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "MUSTER_HANG_ACTION", Value: r.HangAction})
	}
	return nil
}

// preflight sets the checks before ranks start.
func (r Request) preflight(job *v1alpha1.LaunchJob) error {
	p := v1alpha1.Preflight{Mode: r.Preflight, Command: r.Check, GroupCommand: r.GroupCheck, Timeout: timeOf(r.CheckTime)}
	switch {
	case p == (v1alpha1.Preflight{}):
		return nil
	case job.Spec.Launcher == nil:
		return failure.Usage("--launcher adds one", "--preflight requires a launcher: without one, no pod sees all members")
	case r.Preflight == "off" && r.Check+r.GroupCheck != "":
		return failure.Usage("omit --preflight=off, or omit the command", "--preflight=off conflicts with a command to check workers")
	}
	job.Spec.Preflight = &p
	return nil
}

// exitWithin sets how long ranks may outlast the first one that exited with 0.
func (r Request) exitWithin(job *v1alpha1.LaunchJob) error {
	switch {
	case r.ExitWithin == 0:
		return nil
	case r.ExitWithin < time.Second:
		return failure.Usage("--exit-within=5m", "--exit-within=%s: must be at least 1s", r.ExitWithin)
	case job.Spec.Launcher == nil:
		return failure.Usage("--launcher adds one", "--exit-within requires a launcher: without one, no pod sees all members")
	}
	job.Spec.ExitWithin = timeOf(r.ExitWithin)
	return nil
}

// slots returns the number of ranks of a worker: by default as many as it has GPUs.
func (r Request) slots() int {
	if r.Slots > 0 {
		return r.Slots
	}
	return max(r.GPUs, 1)
}

func (r Request) runPolicy() *v1alpha1.RunPolicy {
	if r.ActiveFor == 0 && r.CleanPods == "" {
		return nil
	}
	p := &v1alpha1.RunPolicy{CleanPodPolicy: r.CleanPods}
	if r.ActiveFor > 0 {
		p.ActiveDeadlineSeconds = new(int64(r.ActiveFor.Seconds()))
	}
	return p
}

// Backends of --gang. Volcano is the most common among Arena's users, and it also has queues and
// priorities.
const (
	volcano = "volcano"
	kueue   = "kueue"
)

func (r Request) gang() *v1alpha1.Gang {
	backend := r.Gang
	if backend == "" && r.Queue != "" {
		backend = volcano
	}
	if backend == "" {
		return nil
	}
	g := &v1alpha1.Gang{Backend: backend, Queue: r.Queue}
	if backend == volcano {
		g.PriorityClassName = r.Priority
	}
	return g
}

// limits returns the limits of each worker, or of a parameter server without GPUs.
func (r Request) limits(gpus bool) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	set := func(flag, name, text string) error {
		if text == "" {
			return nil
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() < 0 {
			return failure.Usage("as in --cpu=4, --cpu=500m, --memory=16Gi", "--%s=%q is not a quantity", flag, text)
		}
		if !q.IsZero() { // Arena's scripts write 0 for none
			list[corev1.ResourceName(name)] = q
		}
		return nil
	}
	if err := set("cpu", "cpu", r.CPU); err != nil {
		return nil, err
	}
	if err := set("memory", "memory", r.Memory); err != nil {
		return nil, err
	}
	if !gpus {
		return list, nil
	}
	if r.GPUs > 0 {
		list[gpuResource] = *resource.NewQuantity(int64(r.GPUs), resource.DecimalSI)
	}
	if r.RDMA {
		list[rdmaResource] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	for _, word := range r.Devices {
		name, count, err := pair("device", word, "amd.com/gpu=4")
		if err != nil {
			return nil, err
		}
		if err := set("device", name, count); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Resources of the device plugins. The second is what Arena's --rdma requests.
const (
	gpuResource  = "nvidia.com/gpu"
	rdmaResource = "rdma/hca"
)

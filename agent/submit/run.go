package submit

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// Run holds flags of agent run that only some jobs set. The zero value means the default of agent
// run.
type Run struct {
	MinWorkers    int       `flag:"min-workers"`
	MaxWorkers    int       `flag:"max-workers"`
	Spares        int       `flag:"spares"`
	Procs         int       `flag:"procs-per-worker"`
	LauncherSlots int       `flag:"launcher-slots"`
	Compat        string    `flag:"compat"`
	Settings      []Setting // for the launcher
}

// Setting is a flag of agent run for which jobs have no field. It goes into the launcher's
// environment.
type Setting struct{ Flag, Env, Value string }

// apply sets the fields of the job.
func (r Run) apply(job *v1alpha1.LaunchJob) error {
	var flag string // the flag that needs a launcher
	if len(r.Settings) > 0 {
		flag = r.Settings[0].Flag
	}
	if r.LauncherSlots != 0 {
		flag = "launcher-slots"
	}
	if r.Spares != 0 {
		flag = "spares"
	}
	if r.MinWorkers != 0 || r.MaxWorkers != 0 {
		flag = "min-workers"
	}
	if job.Spec.Launcher == nil && flag != "" {
		return failure.Usage("--launcher adds one", "--%s requires a launcher: only a launcher reads it", flag)
	}
	if r.Compat != "" {
		job.Spec.Compat = r.Compat
	}
	if r.Procs < 0 || r.LauncherSlots < 0 {
		return failure.Usage("--procs-per-worker=2 starts two on each worker", "--procs-per-worker=%d and --launcher-slots=%d must not be negative", r.Procs, r.LauncherSlots)
	}
	if r.Procs > 0 {
		job.Spec.ProcsPerWorker = new(int32(r.Procs))
	}
	if err := r.spares(job); err != nil {
		return err
	}
	if err := r.elastic(job); err != nil || job.Spec.Launcher == nil {
		return err
	}
	job.Spec.Launcher.Slots = int32(r.LauncherSlots)
	c := &job.Spec.Launcher.Template.Spec.Containers[0]
	for _, s := range r.Settings {
		if s.Flag == "exit" {
			if err := failure.OneOf("--exit", s.Value, "strict", "command"); err != nil {
				return err
			}
		}
		if s.Flag == "grace" {
			if err := fitGrace(job, s.Value); err != nil {
				return err
			}
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: s.Env, Value: s.Value})
	}
	return nil
}

// defaultPeriod is the default terminationGracePeriodSeconds of a pod.
const defaultPeriod = 30 * time.Second

// fitGrace gives the job's pods the grace period that --grace needs. Kubernetes' default is too
// short for more than 25 s: the kubelet would kill the processes first.
func fitGrace(job *v1alpha1.LaunchJob, value string) error {
	grace, err := time.ParseDuration(value)
	if err != nil || grace < 0 {
		return failure.Usage("want a time such as 90s, 10m or 1h", "--grace=%s is not a time", value)
	}
	if grace <= names.Grace(defaultPeriod) {
		return nil
	}
	period := new(int64(math.Ceil((grace + defaultPeriod - names.Grace(defaultPeriod)).Seconds())))
	job.Spec.Launcher.Template.Spec.TerminationGracePeriodSeconds = period
	for i := range job.Spec.Roles {
		job.Spec.Roles[i].Template.Spec.TerminationGracePeriodSeconds = period
	}
	return nil
}

// spares sets spec.spares.
func (r Run) spares(job *v1alpha1.LaunchJob) error {
	switch {
	case r.Spares < 0:
		return failure.Usage("--spares=1 keeps one worker in reserve", "--spares=%d: must not be negative", r.Spares)
	case r.Spares > 0 && (r.MinWorkers != 0 || r.MaxWorkers != 0):
		return failure.Usage("omit --spares: raise --max-workers, and all workers compute", "--spares=%d cannot be used with --min-workers", r.Spares)
	case r.Spares > 0 && len(job.Spec.Roles) > 1:
		return failure.Usage("omit --ps, --chief and --evaluator", "--spares cannot be used with --ps, --chief or --evaluator: spares replace only workers")
	}
	job.Spec.Spares = int32(r.Spares)
	return nil
}

func (r Run) elastic(job *v1alpha1.LaunchJob) error {
	if r.MinWorkers == 0 && r.MaxWorkers == 0 {
		return nil
	}
	workers := int(ptr.Deref(job.Spec.Workers, 0))
	low, high := r.MinWorkers, r.MaxWorkers
	if high == 0 {
		high = workers
	}
	switch {
	case low < 1:
		return failure.Usage("--min-workers=2 starts and continues with two", "--max-workers=%d requires --min-workers", high)
	case low > workers || workers > high:
		return failure.Usage("--workers is the initial number", "--min-workers=%d, --workers=%d and --max-workers=%d are not in ascending order", low, workers, high)
	case len(job.Spec.Roles) > 1:
		return failure.Usage("omit --ps, --chief and --evaluator", "--min-workers cannot be used with --ps, --chief or --evaluator: an elastic job has only workers")
	}
	job.Spec.Elastic = &v1alpha1.Elastic{Min: int32(low), Max: int32(high)}
	return nil
}

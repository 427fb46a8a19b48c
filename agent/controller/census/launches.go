package census

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/history"
	"github.com/musterhq/muster/agent/goodput"
)

// Changes counts what happens to jobs: launches, ends, and what the workers' time was spent on. It counts a
// change of a job's status after it was written, so no change counts twice. If the controller is killed
// between the two, the change does not count. A new controller begins at 0, as Prometheus expects.
type Changes struct {
	jobs  *prometheus.CounterVec
	phase *prometheus.HistogramVec
	spent *prometheus.CounterVec

	mu         sync.Mutex
	namespaces map[string]bool // values that the label has had
}

// Phases of a launch, as a label.
const (
	phaseScheduling = "scheduling"
	phaseStarting   = "starting"
)

// mostNamespaces bounds the values of the label namespace. Those beyond it count as Other.
const mostNamespaces = 100

// NewChanges registers the series.
func NewChanges(r prometheus.Registerer) (*Changes, error) {
	c := &Changes{
		namespaces: map[string]bool{},
		jobs:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_jobs_total", Help: "LaunchJobs that have ended."}, []string{"outcome"}),
		phase: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_job_launch_seconds", Help: "Seconds of each phase of a launch: until the last pod had a node, from there until its containers ran.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 14),
		}, []string{"phase"}),
		spent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_jobs_goodput_seconds_total", Help: "Seconds of all workers together, by what they were spent on, of launchers that have ended.",
		}, []string{"class", "namespace"}),
	}
	for _, outcome := range []string{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed} { // a series that exists has a rate
		c.jobs.WithLabelValues(outcome)
	}
	for _, phase := range []string{phaseScheduling, phaseStarting} {
		c.phase.WithLabelValues(phase)
	}
	return c, errors.Join(r.Register(c.jobs), r.Register(c.phase), r.Register(c.spent))
}

// Count counts what the new status of a job reports and the old one did not.
func (c *Changes) Count(namespace string, old, status v1alpha1.LaunchJobStatus, pods []history.Pod) {
	label := c.label(namespace)
	c.spend(label, old.Spent, status.Spent)
	if status.CompletionTime != nil && old.CompletionTime == nil {
		c.jobs.WithLabelValues(status.Phase).Inc()
	}
	if status.Phase != v1alpha1.PhaseRunning || old.Phase != v1alpha1.PhaseWaiting || status.StartTime == nil {
		return
	}
	var scheduled, started time.Time
	for _, p := range pods {
		if at := p.Scheduled(); at.After(scheduled) {
			scheduled = at
		}
		if at := p.Started(); at.After(started) {
			started = at
		}
	}
	c.phase.WithLabelValues(phaseScheduling).Observe(max(0, scheduled.Sub(status.StartTime.Time).Seconds()))
	c.phase.WithLabelValues(phaseStarting).Observe(max(0, started.Sub(scheduled).Seconds()))
}

// spend counts the time that a status has more than the old one. Classes of another release are unknown. label is that of
// the job's namespace.
func (c *Changes) spend(label string, old, spent []v1alpha1.TimeSpent) {
	before := map[string]int64{}
	for _, one := range old {
		before[one.Class] = one.Seconds
	}
	for _, one := range spent {
		class := one.Class
		if !slices.ContainsFunc(goodput.Table(), func(a goodput.About) bool { return string(a.Class) == class }) {
			class = string(goodput.Unknown)
		}
		if seconds := one.Seconds - before[one.Class]; seconds > 0 {
			c.spent.WithLabelValues(class, label).Add(float64(seconds))
		}
	}
}

// label returns the value of the label for a namespace. The series of a new one begin at 0 before its first launcher
// ends, because a rate does not see a counter's first value.
func (c *Changes) label(namespace string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.namespaces[namespace] {
		if len(c.namespaces) >= mostNamespaces {
			return Other
		}
		c.namespaces[namespace] = true
		for _, about := range goodput.Table() {
			c.spent.WithLabelValues(string(about.Class), namespace)
		}
	}
	return namespace
}

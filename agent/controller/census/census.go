// Package census counts LaunchJobs by what they do and wait for, for Prometheus.
//
// It counts at each scrape, from the controller's cache, so that the numbers of jobs that were deleted
// do not stay. No label names a job: phases and reasons are fixed words, and what else a user's cluster
// may put into a reason is counted as Other.
package census

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// Other is the reason of jobs whose reasons are beyond mostReasons.
const Other = "Other"

// mostReasons bounds the values of the label reason.
const mostReasons = 50

// within is how long a scrape may wait for the cache.
const within = 5 * time.Second

// Census is a collector of Prometheus. Before Begin, it has no series: only one replica of the
// controller counts.
type Census struct {
	jobs, waiting, longest *prometheus.Desc

	mu      sync.Mutex
	reader  client.Reader
	clock   clock.PassiveClock
	reasons map[string]bool // values that the label has had
}

// New returns a census.
func New() *Census {
	desc := func(a About) *prometheus.Desc { return prometheus.NewDesc(a.Name, a.Help, []string{a.Label}, nil) }
	t := Table()
	return &Census{jobs: desc(t[0]), waiting: desc(t[1]), longest: desc(t[2]), reasons: map[string]bool{}}
}

// About describes a metric, which is a gauge with one label.
type About struct{ Name, Label, Help string }

// Table returns every metric of the census.
func Table() []About {
	return []About{
		{"muster_jobs", "phase", "LaunchJobs by phase."},
		{"muster_jobs_waiting", "reason", "LaunchJobs that wait, by reason."},
		{"muster_jobs_longest_wait_seconds", "reason", "Seconds since the start of the LaunchJob that has waited longest, by reason."},
	}
}

// Begin starts to count the jobs of a reader.
func (c *Census) Begin(reader client.Reader, now clock.PassiveClock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reader, c.clock = reader, now
}

// Describe implements prometheus.Collector.
func (c *Census) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.jobs, c.waiting, c.longest} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Census) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reader == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var list v1alpha1.LaunchJobList
	if err := c.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		to <- prometheus.NewInvalidMetric(c.jobs, err)
		return
	}
	phases := map[string]int{}
	for _, phase := range Phases() { // a series that exists has no gaps
		phases[phase] = 0
	}
	waiting, longest := map[string]int{}, map[string]time.Duration{}
	for i := range list.Items {
		job := &list.Items[i]
		if by := job.Spec.ManagedBy; by != nil && *by != names.Controller {
			continue
		}
		phase := job.Status.Phase
		if phase == "" { // the controller has not seen it yet
			phase = v1alpha1.PhaseWaiting
		}
		phases[phase]++
		if phase != v1alpha1.PhaseWaiting {
			continue
		}
		reason := c.word(job.Status.Reason)
		waiting[reason]++
		longest[reason] = max(longest[reason], c.clock.Since(began(job)))
	}
	for phase, n := range phases {
		to <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(n), phase)
	}
	for reason, n := range waiting {
		to <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(n), reason)
		to <- prometheus.MustNewConstMetric(c.longest, prometheus.GaugeValue, longest[reason].Seconds(), reason)
	}
}

// began returns when a job has begun to wait. A job in a queue has no start time: it waits since its creation, or since
// it was evicted or resumed.
func began(job *v1alpha1.LaunchJob) time.Time {
	if s := job.Status.StartTime; s != nil {
		return s.Time
	}
	at := job.CreationTimestamp.Time
	for _, kind := range []string{v1alpha1.Admitted, v1alpha1.Suspended} {
		c := meta.FindStatusCondition(job.Status.Conditions, kind)
		if c != nil && c.Status == metav1.ConditionFalse && c.LastTransitionTime.After(at) {
			at = c.LastTransitionTime.Time
		}
	}
	return at
}

// word returns the value of the label for a reason.
func (c *Census) word(reason string) string {
	if reason == "" {
		reason = "Starting"
	}
	if !c.reasons[reason] {
		if len(c.reasons) >= mostReasons {
			return Other
		}
		c.reasons[reason] = true
	}
	return reason
}

// Phases lists the phases of a job.
func Phases() []string {
	return []string{v1alpha1.PhaseSuspended, v1alpha1.PhaseWaiting, v1alpha1.PhaseRunning, v1alpha1.PhaseRestarting, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed}
}

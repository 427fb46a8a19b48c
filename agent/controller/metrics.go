package controller

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Metrics are the controller's own series, besides those of controller-runtime. No label names a
// job or a pod, so their number is bounded.
type Metrics struct {
	jobs  *prometheus.CounterVec
	phase *prometheus.HistogramVec
}

// Phases of a launch, as a label.
const (
	phaseScheduling = "scheduling"
	phaseStarting   = "starting"
)

// NewMetrics registers the series.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_jobs_total", Help: "LaunchJobs that have ended."}, []string{"outcome"}),
		phase: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_job_launch_seconds", Help: "Seconds of each phase of a launch: until the last pod had a node, from there until its containers ran.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 14),
		}, []string{"phase"}),
	}
	for _, outcome := range []string{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed} { // a series that exists has a rate
		m.jobs.WithLabelValues(outcome)
	}
	for _, phase := range []string{phaseScheduling, phaseStarting} {
		m.phase.WithLabelValues(phase)
	}
	return m, errors.Join(r.Register(m.jobs), r.Register(m.phase))
}

// observe counts what the new status reports and the old one did not.
func (m *Metrics) observe(old, status v1alpha1.LaunchJobStatus, places []place) {
	if status.CompletionTime != nil && old.CompletionTime == nil {
		m.jobs.WithLabelValues(status.Phase).Inc()
	}
	if status.Phase != v1alpha1.PhaseRunning || old.Phase != v1alpha1.PhaseWaiting || status.StartTime == nil {
		return
	}
	var scheduled, started time.Time
	for i := range places {
		p := &places[i]
		for _, c := range p.pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.LastTransitionTime.After(scheduled) {
				scheduled = c.LastTransitionTime.Time
			}
		}
		if r := p.status().State.Running; r != nil && r.StartedAt.After(started) {
			started = r.StartedAt.Time
		}
	}
	m.phase.WithLabelValues(phaseScheduling).Observe(max(0, scheduled.Sub(status.StartTime.Time).Seconds()))
	m.phase.WithLabelValues(phaseStarting).Observe(max(0, started.Sub(scheduled).Seconds()))
}

//go:build linux

package main

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/names"
)

// period is that of the samples.
const period = 250 * time.Millisecond

// sample is what the API server said at one moment.
type sample struct {
	T    float64         `json:"t"` // seconds since the row began
	Jobs map[string]seen `json:"jobs"`
}

// seen is a job in a sample.
type seen struct {
	Pods   int    `json:"pods"`
	Bound  int    `json:"bound"`  // that have a node
	Worker int    `json:"worker"` // of these, workers
	Ended  int    `json:"ended"`  // and these have left it
	Phase  string `json:"phase"`
	Reason string `json:"reason,omitempty"`
	Words  string `json:"message,omitempty"`
}

// sampling samples until stop is called, which gives what there was.
func (w *world) sampling(ctx context.Context) (stop func() ([]sample, error)) {
	ctx, cancel := context.WithCancel(ctx)
	var list []sample
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(period); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			s, err := w.sample(ctx)
			if err == nil {
				list = append(list, s)
			} else if ctx.Err() == nil {
				failed = err
			}
		}
	}()
	return func() ([]sample, error) {
		cancel()
		<-done
		return list, failed
	}
}

func (w *world) sample(ctx context.Context) (sample, error) {
	s := sample{T: time.Since(w.began).Round(time.Millisecond).Seconds(), Jobs: map[string]seen{}}
	var jobs v1alpha1.LaunchJobList
	if err := w.client.List(ctx, &jobs, client.InNamespace(w.ns)); err != nil {
		return s, err
	}
	var pods corev1.PodList
	if err := w.client.List(ctx, &pods, client.InNamespace(w.ns)); err != nil {
		return s, err
	}
	for _, j := range jobs.Items {
		s.Jobs[j.Name] = seen{Phase: j.Status.Phase, Reason: j.Status.Reason, Words: j.Status.Message}
	}
	for _, p := range pods.Items {
		j, known := s.Jobs[p.Labels[names.LabelJob]]
		if !known {
			continue
		}
		j.Pods++
		if p.Spec.NodeName != "" {
			j.Bound++
			if p.Labels[names.LabelRole] == names.RoleWorker {
				j.Worker++
			}
		}
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			j.Ended++
		}
		s.Jobs[p.Labels[names.LabelJob]] = j
	}
	return s, nil
}

// firstBound is the job that had pods on nodes before the others; "" while none has.
func firstBound(list []sample) string {
	for _, s := range list {
		for _, name := range slices.Sorted(maps.Keys(s.Jobs)) {
			if s.Jobs[name].Bound > 0 {
				return name
			}
		}
	}
	return ""
}

// others gives how many pods of the other jobs had nodes, in each sample from the
// first pod of job that had one to the first of its pods that has left it.
func others(list []sample, job string) (bound []float64) {
	for _, s := range list {
		j := s.Jobs[job]
		if j.Ended > 0 {
			return bound
		}
		if j.Bound == 0 {
			continue
		}
		n := 0
		for name, other := range s.Jobs {
			if name != job {
				n += other.Bound
			}
		}
		bound = append(bound, float64(n))
	}
	return bound
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/exec/names"
)

// moment is a pod that was created, changed its phase, or is gone.
type moment struct {
	T     float64 `json:"t"` // seconds since the start of the row
	Job   string  `json:"job"`
	Pod   string  `json:"pod"`
	UID   string  `json:"uid"`
	State string  `json:"state"` // the phase, Deleting, or Gone
	Node  string  `json:"node,omitempty"`
}

// trace records what happens to the pods of a namespace.
type trace struct {
	began   time.Time
	cancel  func()
	done    chan struct{}
	mu      sync.Mutex
	moments []moment
	last    map[string]string
}

// follow starts a trace.
func follow(ctx context.Context, c client.WithWatch, namespace string) (*trace, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := c.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	t := &trace{began: time.Now(), cancel: cancel, done: make(chan struct{}), last: map[string]string{}}
	go func() {
		defer close(t.done)
		defer events.Stop()
		for {
			select {
			case e, open := <-events.ResultChan():
				if !open {
					return
				}
				t.take(e)
			case <-ctx.Done():
				return
			}
		}
	}()
	return t, nil
}

func (t *trace) take(e watch.Event) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return
	}
	m := moment{T: time.Since(t.began).Round(time.Millisecond).Seconds(), Job: pod.Labels[names.LabelJob], Pod: pod.Name, UID: string(pod.UID),
		State: string(pod.Status.Phase), Node: pod.Spec.NodeName}
	switch {
	case e.Type == watch.Deleted:
		m.State = gone
	case pod.DeletionTimestamp != nil:
		m.State = "Deleting"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := m.State + " " + m.Node; t.last[m.UID] != now {
		t.last[m.UID] = now
		t.moments = append(t.moments, m)
	}
}

const gone = "Gone"

// stop ends the trace and returns it.
func (t *trace) stop() []moment {
	t.cancel()
	<-t.done
	return t.moments
}

// now returns the number of moments so far, and an error if the watch has broken off.
func (t *trace) now() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return 0, errors.New("the watch of pods has broken off")
	default:
		return len(t.moments), nil
	}
}

// since returns the moments after a number of them.
func (t *trace) since(n int) []moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moments[n:len(t.moments):len(t.moments)]
}

// together returns the most jobs that had pods at the same time.
func together(list []moment) (most int) {
	pods := map[string]map[string]bool{}
	for _, m := range list {
		if pods[m.Job] == nil {
			pods[m.Job] = map[string]bool{}
		}
		if m.State == gone || m.State == string(corev1.PodSucceeded) || m.State == string(corev1.PodFailed) {
			delete(pods[m.Job], m.UID)
		} else {
			pods[m.Job][m.UID] = true
		}
		n := 0
		for _, of := range pods {
			n += min(1, len(of))
		}
		most = max(most, n)
	}
	return most
}

// created returns how many pods of a job were created.
func created(list []moment, job string) int {
	return count(list, job, func(m moment) bool { return m.State != gone })
}

// placed returns how many pods of a job got a node.
func placed(list []moment, job string) int {
	return count(list, job, func(m moment) bool { return m.Node != "" })
}

// count returns how many pods of a job have a moment that so accepts.
func count(list []moment, job string, so func(moment) bool) int {
	uids := map[string]bool{}
	for _, m := range list {
		if m.Job == job && so(m) {
			uids[m.UID] = true
		}
	}
	return len(uids)
}

//go:build linux

package fleet

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Past are the workers that an attempt has lost, as the wait for those in their
// place has to know them. A nil one knows nobody.
type Past struct {
	Pods      map[string]bool // by uid
	instances map[string]bool // of PID 1
}

// errGoing is why a worker that answers is not taken.
var errGoing = errors.New("it was told to stop, and is going")

// NewPast are the workers of these names, as their links stand.
func NewPast(gone []string, standings map[string]Standing) *Past {
	p := &Past{map[string]bool{}, map[string]bool{}}
	for _, name := range gone {
		s := standings[name]
		p.Pods[s.Worker.UID] = true
		if w, ok := s.Link.Welcome(); ok && s.Err == nil {
			p.instances[w.Instance] = true
		}
	}
	return p
}

// going tells whether a worker that answers is one that is about to go.
func (p *Past) going(w wire.WelcomeRecord) bool { return p != nil && p.instances[w.Instance] }

// setPods gives the board what there is, but for lost workers' pods that are over
// or on their way out: nobody waits for these, whatever they ended with.
func (w *waiter) setPods(shot rendezvous.Snapshot) {
	w.shot = shot
	if w.past != nil {
		var kept []*corev1.Pod
		for _, pod := range shot.Pods {
			over := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
			if !over || !w.past.Pods[string(pod.UID)] {
				kept = append(kept, pod)
			}
		}
		shot.Pods = kept
	}
	w.board.SetPods(shot)
}

// Vacancies are the places of workers that are gone.
type Vacancies struct {
	Names []string
	Past  *Past
	Shot  rendezvous.Snapshot // the last that was heard of the pods
}

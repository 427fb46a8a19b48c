//go:build linux

package fleet

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Past holds the workers that an attempt has lost. The wait for their replacements needs it. A nil
// Past is empty.
type Past struct {
	Pods      map[string]bool // by uid
	instances map[string]bool // instances of PID 1
}

// errGoing is why a worker that answers is not accepted.
var errGoing = errors.New("it was told to stop and is ending")

// errBarred is why a worker is not used again.
var errBarred = errors.New("it has ended by itself too often, and is not used again")

// NewPast returns the workers with these names, with the current state of their links.
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

// going reports whether a worker that answers is about to end.
func (p *Past) going(w wire.WelcomeRecord) bool { return p != nil && p.instances[w.Instance] }

// setPods passes the pods on to the board. It leaves out the pods of lost workers that have ended
// or are terminating: nothing waits for these, however they ended.
func (w *waiter) setPods(shot rendezvous.Snapshot) {
	w.shot = shot
	w.record.Pods(shot, w.board.Containers)
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

// Vacancies are the workers to replace.
type Vacancies struct {
	Names []string
	Given []string // of these, the ones that the launcher itself has given up
	Past  *Past
	Shot  rendezvous.Snapshot // the latest snapshot of the pods
}

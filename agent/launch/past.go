//go:build linux

package launch

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// past are the workers that an attempt has lost, as the wait for those in their
// place has to know them. A nil one knows nobody.
type past struct {
	pods      map[string]bool // by uid
	instances map[string]bool // of PID 1
}

// errGoing is why a worker that answers is not taken.
var errGoing = errors.New("it was told to stop, and is going")

func newPast(gone []string, standings map[string]standing) *past {
	p := &past{map[string]bool{}, map[string]bool{}}
	for _, name := range gone {
		s := standings[name]
		p.pods[s.worker.UID] = true
		if w, ok := s.link.Welcome(); ok && s.err == nil {
			p.instances[w.Instance] = true
		}
	}
	return p
}

// going tells whether a worker that answers is one that is about to go.
func (p *past) going(w wire.WelcomeRecord) bool { return p != nil && p.instances[w.Instance] }

// setPods gives the board what there is, but for lost workers' pods that are over
// or on their way out: nobody waits for these, whatever they ended with.
func (w *waiter) setPods(shot rendezvous.Snapshot) {
	w.shot = shot
	if w.past != nil {
		var kept []*corev1.Pod
		for _, pod := range shot.Pods {
			over := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
			if !over || !w.past.pods[string(pod.UID)] {
				kept = append(kept, pod)
			}
		}
		shot.Pods = kept
	}
	w.board.SetPods(shot)
}

package fleet

import (
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// resizeSettle is how long no further worker may have had news before the user is told, so that a resize
	// of many workers is one line. resizeMost bounds that wait.
	resizeSettle = 3 * time.Second
	resizeMost   = 30 * time.Second
	// deferred is how long the kubelet may put off a resize before that is news.
	deferred = time.Minute
)

// Resizes follows the limits of workers through the attempts of a run. It is for one goroutine.
type Resizes struct {
	pods        map[string]knownSize // by uid
	at          time.Time            // of the latest snapshot
	news        []Resize             // that has not been told
	first, last time.Time            // when the oldest and the newest of it came
}

// knownSize is what is known of one pod.
type knownSize struct {
	size    rendezvous.Size
	refused rendezvous.Refusal // the resize that does not happen; zero: there is none
	since   time.Time          // since when
	told    bool
}

// Resize is a resize of one worker, or one that does not happen.
type Resize struct {
	Worker, Node string
	Text         string             // what has changed; "": nothing, see Refused
	Refused      rendezvous.Refusal // the resize that does not happen
	keeps        bool               // ranks run that were started with another CPU limit
}

// Detail returns the news without the worker, for the record of the run.
func (n Resize) Detail() string {
	if n.Text != "" {
		return n.Text
	}
	return n.Refused.Reason + ": " + n.Refused.Message
}

// NewResizes returns the Resizes of a run that has not begun.
func NewResizes() *Resizes { return &Resizes{pods: map[string]knownSize{}} }

// Begin notes the limits with which the ranks of an attempt start. It returns what has changed since
// the last attempt.
func (w *Resizes) Begin(workers []rendezvous.Worker, now time.Time) []Resize {
	var found []Resize
	for _, one := range workers {
		if n, changed := w.changed(one, one.Size, false); changed {
			found = append(found, n)
		}
	}
	w.add(found, now)
	return found
}

// Look compares the pods of workers with what is known of them, and returns what is new.
func (w *Resizes) Look(workers []rendezvous.Worker, shot rendezvous.Snapshot, now time.Time) []Resize {
	var found []Resize
	if shot.At.After(w.at) {
		w.at = shot.At
		exists := w.forget(shot)
		for _, one := range rendezvous.Renewed(workers, shot) {
			if !exists[one.UID] {
				continue // the snapshot says nothing about it
			}
			if n, changed := w.changed(one, one.Size, true); changed {
				found = append(found, n)
			}
			w.refused(one, now)
		}
	}
	found = append(found, w.overdue(workers, now)...)
	w.add(found, now)
	return found
}

// forget drops pods that no longer exist, and returns the others.
func (w *Resizes) forget(shot rendezvous.Snapshot) (exists map[string]bool) {
	kept, exists := make(map[string]knownSize, len(w.pods)), make(map[string]bool, len(shot.Pods))
	for _, pod := range shot.Pods {
		exists[string(pod.UID)] = true
		if k, ok := w.pods[string(pod.UID)]; ok {
			kept[string(pod.UID)] = k
		}
	}
	w.pods = kept
	return exists
}

// changed notes the limits of a worker, and reports whether they are others than before.
func (w *Resizes) changed(one rendezvous.Worker, size rendezvous.Size, running bool) (n Resize, changed bool) {
	k := w.pods[one.UID]
	text := size.Changed(k.size)
	n = Resize{Worker: one.Name, Node: one.Node, Text: text, keeps: running && size.CPU != k.size.CPU}
	if size.Known {
		k.size = size
		w.pods[one.UID] = k
	}
	return n, text != ""
}

// refused notes the resize of a worker that does not happen. A new one begins with another reason or
// another generation. The message says how busy the node is, so it changes often.
func (w *Resizes) refused(one rendezvous.Worker, now time.Time) {
	k := w.pods[one.UID]
	switch r := one.Refused; {
	case r.Reason == k.refused.Reason && r.Generation == k.refused.Generation:
		k.refused = r
	default:
		k.refused, k.since, k.told = r, now, false
	}
	w.pods[one.UID] = k
}

// overdue returns the resizes that do not happen, once each. One that the kubelet only puts off has
// some time.
func (w *Resizes) overdue(workers []rendezvous.Worker, now time.Time) (found []Resize) {
	for _, one := range workers {
		k, ok := w.pods[one.UID]
		if !ok || k.told || k.refused.Reason == "" || k.refused.Brief() && now.Sub(k.since) < deferred {
			continue
		}
		k.told = true
		w.pods[one.UID] = k
		found = append(found, Resize{Worker: one.Name, Node: one.Node, Refused: k.refused})
	}
	return found
}

func (w *Resizes) add(found []Resize, now time.Time) {
	if len(found) == 0 {
		return
	}
	if len(w.news) == 0 {
		w.first = now
	}
	w.last = now
	w.news = append(w.news, found...)
}

// Lines returns what is to be printed now: nothing while more news may follow. At the end of an
// attempt, over, nothing is held back.
func (w *Resizes) Lines(now time.Time, over bool) []string {
	if len(w.news) == 0 || !over && now.Sub(w.last) < resizeSettle && now.Sub(w.first) < resizeMost {
		return nil
	}
	news := w.news
	w.news = nil
	return resizeLines(news)
}

// keeping says what a change of the CPU limit means for ranks that run.
const keeping = "; running ranks keep their slots and threads, a restart reads the annotation " + names.AnnotationSlots

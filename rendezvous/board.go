package rendezvous

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// DefaultGrace is how long a permanent reason must last before the wait ends.
const DefaultGrace = 10 * time.Second

// Board is the state of the wait: pods and links go in, progress comes out. It
// is a pure state machine for one goroutine; it reads no clock and starts
// nothing. Set the exported fields, where needed, before the first SetPods.
type Board struct {
	Containers Containers
	Namespace  string        // for Report
	Selector   string        // for Report
	Names      []string      // in names mode: who is expected
	Least      int           // how many will do, for an elastic job; 0: all
	Settle     time.Duration // and for how long no other may have become ready then; 0: DefaultSettle

	want     int
	grace    time.Duration
	start    time.Time
	api      *APIError
	seen     bool // a Snapshot arrived
	pods     map[string]*corev1.Pod
	ranked   []Worker // the chosen ones, at most want
	surplus  []Worker // replaced by others, or more than wanted
	picking  map[string]error
	events   []corev1.Event
	unread   bool // there is no right to read events
	links    map[string]LinkState
	lasting  map[string]streak
	lastPull map[string]Reason
	trouble  map[string]time.Time // since when a link cannot be had
	arrivals arrivals
}

// streak is how long a worker has been held up for good.
type streak struct {
	code  Code
	since time.Time
}

// New makes the board of a job with want workers. grace is how long a permanent
// reason must last before Hopeless says so; 0 means DefaultGrace.
func New(want int, grace time.Duration) *Board {
	if grace == 0 {
		grace = DefaultGrace
	}
	return &Board{want: want, grace: grace, links: map[string]LinkState{}, lasting: map[string]streak{},
		lastPull: map[string]Reason{}, trouble: map[string]time.Time{}}
}

// SetPods takes what the API server last said. With an error in it the pods
// are the last known ones.
func (b *Board) SetPods(s Snapshot) {
	b.api = s.Err
	if s.Err != nil && len(s.Pods) == 0 && !b.seen {
		return
	}
	b.seen, b.events, b.unread = true, s.Events, s.Unread
	b.pods = make(map[string]*corev1.Pod, len(s.Pods))
	b.picking = map[string]error{}
	workers := make([]Worker, 0, len(s.Pods))
	for _, pod := range s.Pods {
		container, err := b.Containers.Pick(pod)
		if err != nil {
			b.picking[string(pod.UID)] = err
		}
		w := FromPod(pod, container)
		b.pods[w.UID] = pod
		workers = append(workers, w)
	}
	ranked, replaced := Rank(workers)
	b.choose(ranked)
	b.surplus = append(b.surplus, replaced...)
	for uid := range b.links {
		if b.pods[uid] == nil {
			delete(b.links, uid)
		}
	}
	for uid := range b.lastPull {
		if b.pods[uid] == nil {
			delete(b.lastPull, uid)
		}
	}
	for uid := range b.trouble {
		if b.pods[uid] == nil || b.links[uid].Ready {
			delete(b.trouble, uid)
		}
	}
	for uid := range b.lasting {
		if b.pods[uid] == nil && uid != "" {
			delete(b.lasting, uid)
		}
	}
}

// choose takes the first want workers. A label's index from want on is never
// taken: the job was made smaller and that pod is about to go. Pods that can no
// longer become workers give way to those that can.
func (b *Board) choose(ranked []Worker) {
	b.ranked, b.surplus = nil, nil
	var over []Worker
	for _, w := range ranked {
		switch {
		case w.Labelled && w.Index >= b.want:
			b.surplus = append(b.surplus, w)
		case !w.live():
			over = append(over, w)
		case len(b.ranked) < b.want:
			b.ranked = append(b.ranked, w)
		default:
			b.surplus = append(b.surplus, w)
		}
	}
	room := min(b.want-len(b.ranked), len(over))
	b.ranked = append(b.ranked, over[:room]...)
	b.surplus = append(b.surplus, over[room:]...)
	slices.SortFunc(b.ranked, byIndex)
}

// SetLink takes the state of the link to the pod with this uid.
func (b *Board) SetLink(uid string, s LinkState) { b.links[uid] = s }

// Workers returns the chosen workers so far, ranked; those that are Running are
// the ones to link to. The slice must not be changed.
func (b *Board) Workers() []Worker { return b.ranked }

// API returns the API server's failure, nil while it answers.
func (b *Board) API() *APIError { return b.api }

// Done returns the ranked workers when every one of them is ready, or, with
// Least, those that are when no other comes.
func (b *Board) Done() ([]Worker, bool) {
	ready := 0
	for _, w := range b.ranked {
		if b.ready(w) {
			ready++
		}
	}
	if !b.seen || ready < b.want && !b.enough(ready) {
		return nil, false
	}
	return b.Ready(), true
}

// Ready returns the workers that are ready, ranked.
func (b *Board) Ready() []Worker {
	var ready []Worker
	for _, w := range b.ranked {
		if b.ready(w) {
			ready = append(ready, w)
		}
	}
	return ready
}

// ready: the link's handshake is the readiness, unless the pod is on its way out.
func (b *Board) ready(w Worker) bool {
	return b.links[w.UID].Ready && w.live() && w.Running && !leaving(b.pods[w.UID])
}

// reason says why the worker is not ready; it is not called for ready ones.
func (b *Board) reason(w Worker, now time.Time) Reason {
	pod := b.pods[w.UID]
	if err := (*ContainerError)(nil); errors.As(b.picking[w.UID], &err) && w.live() {
		cause := strings.TrimPrefix(err.Error(), "choose container: pod "+w.Name+" ")
		return Reason{
			Code: AmbiguousContainer, Pod: w.Name, Permanent: true, Hint: err.Hint(),
			Brief: "AmbiguousContainer: " + cause, Sentence: w.Name + ": the pod " + cause,
		}
	}
	r := Because(Explain(pod, w.Container, now), pod, b.events)
	if b.unread && r.Code == ContainerCreating && Stuck(pod, now) {
		r = unread(r, b.Namespace)
	}
	link := b.links[w.UID].Reason
	switch {
	case r.Code == ImagePull:
		return b.rememberPull(w.UID, r)
	case (r.OK() || r.Code == NotReady) && !link.OK():
		link.Pod = w.Name
		return link
	case r.OK() && leaving(pod):
		return departing(w, pod)
	case r.OK():
		return ConnectingTo(w.Name)
	}
	return r
}

// settle is how long a container may take from its start to an agent that
// answers, or to a status that says why it does not: one that ends at once is
// called in vain before its pod says how it ended.
const settle = 5 * time.Second

// settled is the reason as it is shown: for settle, what a container that
// starts or ends passes through is not worth a word.
func (b *Board) settled(w Worker, now time.Time) Reason {
	r := b.reason(w, now)
	if !r.fleeting() {
		return r
	}
	since, ok := b.trouble[w.UID]
	if !ok {
		since = now
		b.trouble[w.UID] = now
	}
	if now.Sub(since) < settle {
		return ConnectingTo(w.Name)
	}
	return r
}

// rememberPull keeps the registry's answer while the kubelet only says that it
// backs off; without it a permanent reason would come and go.
func (b *Board) rememberPull(uid string, r Reason) Reason {
	if last, ok := b.lastPull[uid]; ok && r.vague {
		return last
	}
	b.lastPull[uid] = r
	return r
}

// Hopeless reports whether waiting cannot help any more: the watch has given
// up, or a worker's permanent reason has outlasted its grace. While the API
// server does not answer nothing is hopeless, as its last words may be old.
func (b *Board) Hopeless(now time.Time) (Reason, bool) {
	if b.api != nil {
		return b.api.Reason(), b.api.Terminal
	}
	var found Reason
	doomed := 0
	alike := map[Code]int{}
	for _, w := range b.ranked {
		if b.ready(w) {
			delete(b.lasting, w.UID)
			continue
		}
		r := b.reason(w, now)
		if r.Code == Connecting {
			continue // between two attempts of a link, or two runs of a container that crashes
		}
		if !r.Permanent {
			delete(b.lasting, w.UID)
			continue
		}
		s, ok := b.lasting[w.UID]
		if !ok || denied(s.code) != denied(r.Code) {
			s = streak{r.Code, now}
			b.lasting[w.UID] = s
		}
		alike[r.Code]++
		if now.Sub(s.since) >= fallback(r.Grace, b.grace) {
			doomed++
			if found.OK() {
				found = r
			}
		}
	}
	if found.OK() || b.spares(doomed) {
		return Reason{}, false
	}
	found.Sentence += more(alike[found.Code] - 1)
	return found, true
}

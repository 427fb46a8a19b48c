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

// Board is the state of the wait: pods and links go in, progress comes out. It is a pure state
// machine for one goroutine: it reads no clock and starts nothing. Set the exported fields before
// the first SetPods.
type Board struct {
	Containers Containers
	Namespace  string        // for Report
	Selector   string        // for Report
	Names      []string      // in names mode: the expected pods
	Least      int           // workers that are enough for an elastic job; 0: all are needed
	Settle     time.Duration // how long no further worker may have become ready then; 0: DefaultSettle
	ByTopology bool          // the order of ranks will depend on the topology of the workers
	Seats      *Seats        // of a run with spares, which are among the wanted workers; nil: no spares

	want     int
	grace    time.Duration
	start    time.Time
	api      *APIError
	seen     bool // a Snapshot has arrived
	pods     map[string]*corev1.Pod
	ranked   []Worker // the chosen workers, at most want
	surplus  []Worker // replaced by others, or more than wanted
	picking  map[string]error
	events   []corev1.Event
	unread   bool // the right to read events is missing
	links    map[string]LinkState
	lasting  map[string]streak
	lastPull map[string]Reason
	trouble  map[string]time.Time // since when a link has failed
	arrivals arrivals
	doomed   map[string]bool // by uid: workers whose permanent reason has outlasted its grace
}

// streak is the time since which a worker has had a permanent reason.
type streak struct {
	code  Code
	since time.Time
}

// New returns the board of a job with want workers. grace is how long a permanent reason must last
// before Hopeless reports it; 0 means DefaultGrace.
func New(want int, grace time.Duration) *Board {
	if grace == 0 {
		grace = DefaultGrace
	}
	return &Board{want: want, grace: grace, links: map[string]LinkState{}, lasting: map[string]streak{},
		lastPull: map[string]Reason{}, trouble: map[string]time.Time{}}
}

// SetPods sets the newest answer of the API server. If it contains an error, the pods are the last
// known ones.
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

// choose takes the first want workers. It never takes an index label of want or more: the job was
// made smaller, and that pod will be deleted. Pods that can no longer become workers yield to
// others.
func (b *Board) choose(ranked []Worker) {
	b.ranked, b.surplus = make([]Worker, 0, min(max(b.want, 0), len(ranked))), nil
	var over []Worker
	for _, w := range ranked {
		switch {
		case w.Labelled && w.Given == 0 && w.Index >= b.want:
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

// SetLink sets the state of the link to the pod with this uid.
func (b *Board) SetLink(uid string, s LinkState) { b.links[uid] = s }

// Workers returns the workers chosen so far, in rank order. The launcher connects to
// the workers that are Running. The slice must not be changed.
func (b *Board) Workers() []Worker { return b.ranked }

// API returns the failure of the API server, or nil while it answers.
func (b *Board) API() *APIError { return b.api }

// Done returns the ranked workers when all of them are ready. With Least it returns the ready
// workers when no further one arrives. With Seats it returns those with a seat, in that order.
func (b *Board) Done() ([]Worker, bool) {
	ready := 0
	for _, w := range b.ranked {
		if b.ready(w) {
			ready++
		}
	}
	switch {
	case !b.seen || !b.located():
		return nil, false
	case b.Seats != nil:
		hopeless := func(w Worker) bool { return b.doomed[w.UID] || !w.live() }
		return b.Seats.Choose(b.ranked, b.fit, hopeless, b.quiet(ready, SpareSettle))
	case ready < b.want && !b.enough(ready):
		return nil, false
	}
	return b.Ready(), true
}

// Ready returns the workers that are ready, in rank order.
func (b *Board) Ready() []Worker {
	var ready []Worker
	for _, w := range b.ranked {
		if b.ready(w) {
			ready = append(ready, w)
		}
	}
	return ready
}

// ready reports whether the link is connected and the pod is not being deleted.
func (b *Board) ready(w Worker) bool {
	return b.links[w.UID].Ready && w.live() && w.Running && !leaving(b.pods[w.UID])
}

// fit reports whether the worker may have a seat. The node of a spare must answer, because its link
// may be parked, which proves nothing.
func (b *Board) fit(w Worker) bool {
	return b.ready(w) && (b.Seats.Holds(w.Name) || !Silent(b.pods[w.UID]))
}

// reason says why the worker is not ready. It is not called for ready workers.
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

// settle is how long a container may take from its start to an agent that answers, or to a status
// that explains why it does not. If a container exits at once, connecting fails before its pod has
// the exit code.
const settle = 5 * time.Second

// settled returns the reason to show. For the duration of settle it hides the reasons that a
// container has only while it starts or ends.
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

// rememberPull returns the last answer of the registry while the kubelet reports only its back-off.
// Otherwise a permanent reason would come and go.
func (b *Board) rememberPull(uid string, r Reason) Reason {
	if last, ok := b.lastPull[uid]; ok && r.vague {
		return last
	}
	b.lastPull[uid] = r
	return r
}

// Hopeless reports whether waiting cannot help: the watch has given up, or the permanent reason of
// a worker has outlasted its grace. While the API server does not answer nothing is hopeless,
// because its last answer may be outdated.
func (b *Board) Hopeless(now time.Time) (Reason, bool) {
	if b.api != nil {
		return b.api.Reason(), b.api.Terminal
	}
	var found Reason
	b.doomed = map[string]bool{}
	alike := map[Code]int{}
	for _, w := range b.ranked {
		if b.ready(w) {
			delete(b.lasting, w.UID)
			continue
		}
		r := b.reason(w, now)
		if r.Code == Connecting {
			continue // between two connection attempts, or two runs of a crashing container
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
			b.doomed[w.UID] = true
			if found.OK() {
				found = r
			}
		}
	}
	if found.OK() || b.spares(len(b.doomed)) {
		return Reason{}, false
	}
	found.Sentence += more(alike[found.Code] - 1)
	return found, true
}

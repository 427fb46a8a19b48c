package rendezvous

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// Gate holds requests back while the API server is known not to answer. The links share it, so that
// a server that comes back gets one probe instead of many requests.
type Gate interface {
	// Wait returns nil when requests may be sent, or ctx's error.
	Wait(ctx context.Context) error
}

// Watch follows the pods of a job. Set Client, Namespace, and Selector or Names.
type Watch struct {
	Client    rest.Interface // made by Client
	Namespace string
	Selector  string   // label selector; needs the rights to list and watch
	Names     []string // in place of Selector: poll these pods by name
	Gate      Gate     // may be nil

	// For a zero value the default in brackets applies.
	Poll       time.Duration // between two polls of names mode [2s, or 20ms for each name]
	Settle     time.Duration // changes within this time make one Snapshot [20ms]
	Timeout    time.Duration // for each answer of the API server [15s]
	DenyFirst  time.Duration // how long 401/403 may last before the first success [ForbiddenGrace]
	DenyLater  time.Duration // and after it [15s]
	WatchLimit time.Duration // after which the server ends a watch [5m]
	Events     time.Duration // between two reads of events while a pod is stuck [10s]
}

// Run sends a Snapshot to out after every change of the pods or of the API server's state. A slow
// receiver gets only the newest state. Run returns nil when ctx ends. It returns an *APIError
// (Terminal) when it gives up: for a selector that cannot be parsed, and for 401 or 403 that
// lasted. It retries everything else forever, after 250 ms to 1 s.
func (w Watch) Run(ctx context.Context, out chan<- Snapshot) error {
	if len(w.Names) == 0 {
		if _, err := labels.Parse(w.Selector); err != nil {
			return badSelector(w.Selector, err)
		}
	}
	w.Poll = fallback(w.Poll, max(2*time.Second, time.Duration(len(w.Names))*20*time.Millisecond))
	w.Settle = fallback(w.Settle, 20*time.Millisecond)
	w.Timeout = fallback(w.Timeout, 15*time.Second)
	w.DenyFirst = fallback(w.DenyFirst, ForbiddenGrace)
	w.DenyLater = fallback(w.DenyLater, 15*time.Second)
	w.WatchLimit = fallback(w.WatchLimit, 5*time.Minute)
	w.Events = fallback(w.Events, eventsEvery)

	v := &view{pods: map[string]*corev1.Pod{}, dirty: make(chan struct{}, 1)}
	follow := w.followSelector
	if len(w.Names) > 0 {
		follow = w.followNames
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(v.dirty)
		watching, ctx := errgroup.WithContext(ctx)
		watching.Go(func() error { return w.retry(ctx, v, follow) })
		watching.Go(func() error {
			w.followEvents(ctx, v)
			return nil
		})
		return watching.Wait()
	})
	group.Go(func() error {
		for range v.dirty {
			if v.snapshot().Err == nil {
				sleep(ctx, w.Settle)
			}
			select {
			case out <- v.snapshot():
			case <-ctx.Done():
				// A terminal error cancels ctx too. The receiver learns of it from the result of
				// Run.
			}
		}
		return nil
	})
	return group.Wait()
}

// retry calls follow until ctx ends or an error is terminal. If follow returns nil, retry calls it
// again at once.
func (w Watch) retry(ctx context.Context, v *view, follow func(context.Context, *view) error) error {
	wait := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(250*time.Millisecond), backoff.WithMaxInterval(time.Second), backoff.WithMaxElapsedTime(0))
	var failing *APIError
	for ctx.Err() == nil {
		if w.Gate != nil {
			if err := w.Gate.Wait(ctx); err != nil {
				break
			}
		}
		began := time.Now()
		err := follow(ctx, v)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > steady && v.answered(began) {
			failing = nil
		}
		if err == nil {
			wait.Reset()
			continue
		}
		next := w.classify(err)
		if failing != nil && denied(failing.Code) == denied(next.Code) {
			next.Since = failing.Since
		}
		failing = next
		limit := w.DenyFirst
		if v.worked() {
			limit = w.DenyLater
		}
		next.Terminal = next.Code == BadSelector || denied(next.Code) && time.Since(next.Since) >= limit
		v.fail(next)
		if next.Terminal {
			return next
		}
		sleep(ctx, max(wait.NextBackOff(), retryAfter(err)))
	}
	return nil
}

// steady is how long requests must have succeeded for the next failure to start a new series. If
// list is allowed and watch is not, every attempt begins with a success.
const steady = 5 * time.Second

// view is shared by Run and its follower.
type view struct {
	dirty chan struct{} // one token: something changed; closed by the follower

	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	err     *APIError
	good    time.Time // when the last request succeeded
	started bool      // a Snapshot has content
	events  []corev1.Event
	unread  bool // because a right is missing
}

// update changes the pods. It does not clear the error, because it may be only half of what is
// needed.
func (v *view) update(change func(pods map[string]*corev1.Pod)) {
	v.mu.Lock()
	change(v.pods)
	v.started, v.good = true, time.Now()
	v.mu.Unlock()
	v.mark()
}

// alive records that requests succeed again.
func (v *view) alive() {
	v.mu.Lock()
	recovered := v.err != nil
	v.err, v.good = nil, time.Now()
	v.mu.Unlock()
	if recovered {
		v.mark()
	}
}

func (v *view) fail(err *APIError) {
	v.mu.Lock()
	v.err = err
	v.mu.Unlock()
	v.mark()
}

func (v *view) answered(since time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.good.Before(since) && !v.good.IsZero()
}

func (v *view) worked() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.good.IsZero()
}

func (v *view) mark() {
	select {
	case v.dirty <- struct{}{}:
	default:
	}
}

func (v *view) snapshot() Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := Snapshot{Pods: make([]*corev1.Pod, 0, len(v.pods)), At: time.Now(), Err: v.err, Events: v.events, Unread: v.unread}
	for _, pod := range v.pods {
		s.Pods = append(s.Pods, pod)
	}
	slices.SortFunc(s.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func badSelector(selector string, err error) *APIError {
	return &APIError{
		Code: BadSelector, Verb: "select", Err: fmt.Errorf("parse selector %q: %w", selector, err), Since: time.Now(), Terminal: true,
		Hints: "a selector is like muster.dev/job=pi,muster.dev/role=worker",
	}
}

func fallback(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// verbError records which request failed.
type verbError struct {
	verb string
	err  error
}

func (e *verbError) Error() string { return e.verb + " pods: " + e.err.Error() }
func (e *verbError) Unwrap() error { return e.err }

// request returns a request without the client's retries. These would hide from the progress line
// what the launcher waits for.
func (w Watch) request() *rest.Request {
	return w.Client.Get().Namespace(w.Namespace).Resource("pods").MaxRetries(0)
}

// followSelector lists the pods, then watches until the resource version is too old (nil: list again)
// or a request fails. If a watch merely ends, it starts another one at the same version.
func (w Watch) followSelector(ctx context.Context, v *view) error {
	listed, version, err := w.list(ctx)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // between two pages
	}
	if err != nil {
		return &verbError{"list", err}
	}
	v.update(func(pods map[string]*corev1.Pod) {
		clear(pods)
		maps.Copy(pods, listed)
	})
	for ctx.Err() == nil {
		began := time.Now()
		err := w.watchFrom(ctx, v, &version)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return nil
		}
		if err != nil {
			return &verbError{"watch", err}
		}
		if time.Since(began) < time.Second {
			sleep(ctx, 250*time.Millisecond) // do not overload a proxy that ends every watch
		}
		if w.Gate != nil {
			if err := w.Gate.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// pageSize is how many pods are asked for at once, as in kubectl. Only one page at a time is in memory
// with all that it says.
const pageSize = 500

// list reads the pods, and the resource version from which to watch them.
func (w Watch) list(ctx context.Context) (pods map[string]*corev1.Pod, version string, err error) {
	pods = map[string]*corev1.Pod{}
	for next := ""; ; {
		page, err := w.page(ctx, next)
		if err != nil {
			return nil, "", err
		}
		for _, pod := range page.Items { // a copy, because a pointer would keep the whole page
			slim(&pod)
			pods[pod.Name] = &pod
		}
		if next = page.Continue; next == "" {
			return pods, page.ResourceVersion, nil
		}
	}
}

// page reads one page of the list. next is the token of the page before; "" for the first one.
func (w Watch) page(ctx context.Context, next string) (list corev1.PodList, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	r := w.request().Param("labelSelector", w.Selector).Param("limit", strconv.Itoa(pageSize))
	if next != "" {
		r = r.Param("continue", next)
	}
	err = r.Do(ctx).Into(&list)
	return list, err
}

// watchFrom follows one watch to its end and keeps version up to date. It returns nil if the stream
// ended.
func (w Watch) watchFrom(ctx context.Context, v *view, version *string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A dial to a stopped API server may hang forever. So the response header has a deadline, and
	// the stream after it has none.
	tooLate := time.AfterFunc(w.Timeout, cancel)
	stream, err := w.request().
		Param("labelSelector", w.Selector).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", *version).Param("timeoutSeconds", fmt.Sprint(int(w.WatchLimit.Seconds()))).
		Watch(ctx)
	if !tooLate.Stop() && err != nil {
		return fmt.Errorf("no answer within %v: %w", w.Timeout, err)
	}
	if err != nil {
		return err
	}
	defer stream.Stop()
	v.alive()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			err := apierrors.FromObject(event.Object)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return err
			}
			return nil // cut in the middle of a frame: the next watch resumes
		}
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		*version = pod.ResourceVersion
		if event.Type == watch.Bookmark {
			v.alive()
			continue
		}
		slim(pod)
		v.update(func(pods map[string]*corev1.Pod) {
			if event.Type == watch.Deleted {
				delete(pods, pod.Name)
			} else {
				pods[pod.Name] = pod
			}
		})
	}
	return nil
}

// followNames gets every named pod once, eight at a time, and then sleeps for one poll. A pod that
// is not found is absent. If a pod cannot be read, it keeps its last state, and followNames returns
// the failure.
func (w Watch) followNames(ctx context.Context, v *view) error {
	var (
		mu     sync.Mutex
		found  = map[string]*corev1.Pod{}
		failed error
	)
	group, getting := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, name := range w.Names {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(getting, w.Timeout)
			defer cancel()
			pod := &corev1.Pod{}
			err := w.request().Name(name).Do(ctx).Into(pod)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				slim(pod)
				found[name] = pod
			case apierrors.IsNotFound(err):
				found[name] = nil
			default:
				failed = &verbError{"get", err}
				if !apierrors.IsForbidden(err) { // the server does not answer: the other requests would only wait for it too
					return err
				}
			}
			return nil
		})
	}
	_ = group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(found) > 0 {
		w.merge(v, found)
	}
	if failed != nil {
		return failed
	}
	v.alive()
	sleep(ctx, w.Poll)
	return nil
}

// merge puts the pods that were found into the view. A round without changes makes no Snapshot.
func (w Watch) merge(v *view, found map[string]*corev1.Pod) {
	v.mu.Lock()
	changed := !v.started
	for name, pod := range found {
		old := v.pods[name]
		changed = changed || (old == nil) != (pod == nil) || pod != nil && old.ResourceVersion != pod.ResourceVersion
	}
	v.mu.Unlock()
	if !changed {
		return
	}
	v.update(func(pods map[string]*corev1.Pod) {
		for name, pod := range found {
			if pod == nil {
				delete(pods, name)
			} else {
				pods[name] = pod
			}
		}
	})
}

func denied(c Code) bool { return c == Forbidden || c == Unauthorized }

// classify turns a failed request into an APIError whose Since is now.
func (w Watch) classify(err error) *APIError {
	e := &APIError{Code: Unreachable, Verb: "list", Err: err, Since: time.Now(),
		Hints: "the launcher keeps retrying; check that the API server is up and reachable from this pod"}
	var verb *verbError
	if errors.As(err, &verb) {
		e.Verb, e.Err = verb.verb, verb.err
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return e
	}
	switch code := status.Status().Code; {
	case code == http.StatusUnauthorized:
		e.Code = Unauthorized
		e.Hints = "check that the launcher's ServiceAccount still exists and that its token is mounted (automountServiceAccountToken)"
	case code == http.StatusForbidden:
		e.Code = Forbidden
		e.Hints = fmt.Sprintf(`add this rule to the Role of the launcher's ServiceAccount in namespace %s: {apiGroups: [""], resources: ["pods"], verbs: %s}`,
			w.Namespace, map[bool]string{true: `["get"]`, false: `["list", "watch"]`}[len(w.Names) > 0])
	case code == http.StatusBadRequest && e.Verb != "get":
		bad := badSelector(w.Selector, e.Err)
		bad.Verb = e.Verb
		return bad
	}
	return e
}

// retryAfter returns the server's Retry-After, at most 10 s.
func retryAfter(err error) time.Duration {
	seconds, ok := apierrors.SuggestsClientDelay(err)
	if !ok {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 10*time.Second)
}

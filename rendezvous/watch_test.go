package rendezvous_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fakekube"
)

// following holds a Watch that runs against a fake API server over real HTTP.
type following struct {
	t      *testing.T
	server *fakekube.Server
	out    chan rendezvous.Snapshot
	result chan error
	stop   context.CancelFunc
}

func follow(t *testing.T, s *fakekube.Server, change func(*rendezvous.Watch)) *following {
	cfg := &rest.Config{Host: s.URL()}
	httpClient, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := rendezvous.Client(cfg)
	require.NoError(t, err)
	w := rendezvous.Watch{Client: client, Namespace: "hpc", Selector: "muster.dev/job=pi", Settle: time.Millisecond}
	if change != nil {
		change(&w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{t: t, server: s, out: make(chan rendezvous.Snapshot), result: make(chan error, 1), stop: cancel}
	go func() { f.result <- w.Run(ctx, f.out) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-f.result:
			require.NoError(t, err)
		case <-time.After(20 * time.Second):
			t.Error("Run does not end with its context")
		}
	})
	return f
}

// until reads snapshots until one matches, and returns it.
func (f *following) until(what string, fits func(rendezvous.Snapshot) bool) rendezvous.Snapshot {
	f.t.Helper()
	deadline := time.After(20 * time.Second)
	var last rendezvous.Snapshot
	for {
		select {
		case last = <-f.out:
			if fits(last) {
				return last
			}
		case <-deadline:
			require.FailNow(f.t, "no snapshot in which "+what, "last: %d pods, error %v", len(last.Pods), last.Err)
		}
	}
}

// pods waits for a snapshot without an error that has exactly these pods.
func (f *following) pods(names ...string) rendezvous.Snapshot {
	f.t.Helper()
	return f.until("the pods are "+strings.Join(names, " "), func(s rendezvous.Snapshot) bool {
		var have []string
		for _, p := range s.Pods {
			have = append(have, p.Name)
		}
		return s.Err == nil && slices.Equal(have, names)
	})
}

func (f *following) failing(code rendezvous.Code, says string) rendezvous.Snapshot {
	f.t.Helper()
	return f.until("the server fails", func(s rendezvous.Snapshot) bool {
		return s.Err != nil && s.Err.Code == code && strings.Contains(s.Err.Error(), says)
	})
}

func (f *following) count(is func(fakekube.Request) bool) (n int) {
	for _, r := range f.server.Requests() {
		if is(r) {
			n++
		}
	}
	return n
}

// watching waits until the newest request is a watch, and more than n watches were requested. It
// returns that request. Before that, no watch receives events, and a failure meant for the next
// watch may affect the current one.
func (f *following) watching(n int) fakekube.Request {
	f.t.Helper()
	var last fakekube.Request
	require.Eventually(f.t, func() bool {
		all := f.server.Requests()
		last = all[len(all)-1]
		return f.count(isWatch) > n && last.Watch()
	}, 20*time.Second, 5*time.Millisecond, "no watch")
	return last
}

func isList(r fakekube.Request) bool  { return !r.Watch() && strings.HasSuffix(r.Path, "/pods") }
func isWatch(r fakekube.Request) bool { return r.Watch() }

func worker(t *testing.T, name string) *corev1.Pod {
	pod := shape(t, "running-ready")
	pod.Name, pod.UID = name, ""
	return pod
}

func TestWatchFollowsPods(t *testing.T) {
	s := fakekube.New(t)
	s.Set(worker(t, "w-1"))
	stranger := worker(t, "x-0")
	stranger.Labels = nil
	s.Set(stranger)
	f := follow(t, s, nil)
	f.pods("w-1")
	s.Set(worker(t, "w-0"))
	f.pods("w-0", "w-1")
	s.Edit("hpc", "w-0", func(p *corev1.Pod) { p.Status.PodIP = "10.9.9.9" })
	f.until("the address changed", func(s rendezvous.Snapshot) bool { return len(s.Pods) == 2 && s.Pods[0].Status.PodIP == "10.9.9.9" })
	s.Delete("hpc", "w-1")
	f.pods("w-0")
	s.Edit("hpc", "w-0", func(p *corev1.Pod) { p.Labels = nil })
	f.pods()
	require.Equal(t, 1, f.count(isList))
	require.Equal(t, 1, f.count(isWatch))
}

func TestWatchResumesDroppedConnectionsWithoutAList(t *testing.T) {
	s := fakekube.New(t)
	f := follow(t, s, nil)
	f.pods()
	names := []string{"w-0", "w-1", "w-2"}
	for i, name := range names {
		require.Eventually(t, func() bool { return f.count(isWatch) > i }, 10*time.Second, 5*time.Millisecond)
		s.Drop()
		s.Set(worker(t, name)) // changes while no watch is open
		f.pods(names[:i+1]...)
	}
	require.Equal(t, 1, f.count(isList), "the watch resumes from the last resource version, without a list")
}

func TestWatchListsAgainAfter410AndKeepsBookmarks(t *testing.T) {
	s := fakekube.New(t)
	s.Set(worker(t, "w-0"))
	f := follow(t, s, nil)
	f.pods("w-0")
	s.Compact()
	s.Delete("hpc", "w-0")
	s.Set(worker(t, "w-1"))
	f.pods("w-1")
	require.GreaterOrEqual(t, f.count(isList), 2)
	f.watching(0)

	// The server answers the watch request itself with 410, not an event in the stream.
	lists := f.count(isList)
	s.Fail(fakekube.Failure{Code: http.StatusGone, Count: 1, Match: func(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }})
	s.Drop()
	s.Set(worker(t, "w-2"))
	f.pods("w-1", "w-2")
	require.Greater(t, f.count(isList), lists)
	f.watching(0)

	// A bookmark advances the resource version, so a later compaction up to that version is
	// harmless. A dropped connection loses a bookmark that was not read yet, so each watch gets
	// more time than the previous one.
	s.Bookmark()
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		require.Less(t, pause, 30*time.Second, "no watch resumes from the bookmark")
		time.Sleep(pause)
		watches := f.count(isWatch)
		s.Drop()
		if strings.Contains(f.watching(watches).Query, "resourceVersion=106") { // 105 is the version of the last pod
			return
		}
	}
}

func TestWatchReportsAnOutageAndRecovers(t *testing.T) {
	s := fakekube.New(t)
	s.Set(worker(t, "w-0"))
	f := follow(t, s, nil)
	f.pods("w-0")
	s.Stop()
	away := f.failing(rendezvous.Unreachable, "refused")
	require.Len(t, away.Pods, 1, "the last known state is kept")
	require.Contains(t, away.Err.Reason().Brief, "API server")
	s.Set(worker(t, "w-1"))
	s.Start()
	f.pods("w-0", "w-1")
}

func TestWatchOutlivesBurstsOfErrors(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			s := fakekube.New(t)
			s.Set(worker(t, "w-0"))
			s.Fail(fakekube.Failure{Code: code, Count: 2, RetryAfter: "0"})
			f := follow(t, s, nil)
			want := map[int]rendezvous.Code{401: rendezvous.Unauthorized, 403: rendezvous.Forbidden}[code]
			if want == "" {
				want = rendezvous.Unreachable
			}
			first := f.failing(want, "")
			require.False(t, first.Err.Terminal)
			require.NotEmpty(t, first.Err.Hint())
			f.pods("w-0")
		})
	}
}

func TestWatchGivesUpOnLasting403(t *testing.T) {
	s := fakekube.New(t)
	s.Fail(fakekube.Failure{Code: http.StatusForbidden, Message: `pods is forbidden: User "system:serviceaccount:hpc:pi" cannot list resource "pods"`})
	f := follow(t, s, func(w *rendezvous.Watch) { w.DenyFirst = time.Second })
	first := f.failing(rendezvous.Forbidden, `cannot list resource "pods"`)
	require.Contains(t, first.Err.Hint(), `resources: ["pods"], verbs: ["list", "watch"]`)
	var err error
	for done := false; !done; {
		select {
		case <-f.out:
		case err = <-f.result:
			done = true
		case <-time.After(20 * time.Second):
			require.FailNow(t, "Run did not end")
		}
	}
	f.result <- nil // for the cleanup
	var api *rendezvous.APIError
	require.ErrorAs(t, err, &api)
	require.True(t, api.Terminal)
	require.Equal(t, 77, api.Reason().ExitCode())
	require.Equal(t, first.Err.Since, api.Since, "the time counts from the first denial")
}

// TestWatchGivesUpWhenOnlyWatchIsForbidden checks a client that may list but not watch, so that
// every attempt begins with a success.
func TestWatchGivesUpWhenOnlyWatchIsForbidden(t *testing.T) {
	s := fakekube.New(t)
	s.Fail(fakekube.Failure{Code: http.StatusForbidden, Match: func(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }})
	client, err := rendezvous.Client(&rest.Config{Host: s.URL()})
	require.NoError(t, err)
	out := make(chan rendezvous.Snapshot, 1000)
	err = rendezvous.Watch{Client: client, Namespace: "hpc", Selector: "a=b", DenyLater: time.Second}.Run(t.Context(), out)
	var api *rendezvous.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, "watch", api.Verb)
	require.Equal(t, rendezvous.Forbidden, api.Code)
}

func TestWatchRefusesABadSelector(t *testing.T) {
	s := fakekube.New(t)
	client, err := rendezvous.Client(&rest.Config{Host: s.URL()})
	require.NoError(t, err)
	for _, selector := range []string{"a===b", "job in (", "!!", "a=b,=c"} {
		err = rendezvous.Watch{Client: client, Namespace: "hpc", Selector: selector}.Run(t.Context(), make(chan rendezvous.Snapshot))
		var api *rendezvous.APIError
		require.ErrorAs(t, err, &api, selector)
		require.Equal(t, 64, api.Reason().ExitCode())
		require.Contains(t, err.Error(), selector)
	}
	require.Empty(t, s.Requests(), "no request is sent")
}

func TestNamesModeNeedsGetOnly(t *testing.T) {
	s := fakekube.New(t)
	s.Set(worker(t, "w-0"))
	s.Set(worker(t, "w-9"))
	s.Fail(fakekube.Failure{Code: http.StatusForbidden, Match: func(r *http.Request) bool {
		return !strings.Contains(r.URL.Path, "/pods/w-") || strings.HasSuffix(r.URL.Path, "/w-9")
	}})
	f := follow(t, s, func(w *rendezvous.Watch) {
		w.Selector, w.Names, w.Poll = "", []string{"w-0", "w-1"}, 20*time.Millisecond
	})
	f.pods("w-0")
	s.Set(worker(t, "w-1"))
	f.pods("w-0", "w-1")
	s.Delete("hpc", "w-0")
	f.pods("w-1")
	require.Zero(t, f.count(isList)+f.count(isWatch))
	s.Stop()
	f.failing(rendezvous.Unreachable, "get pods")
	s.Set(worker(t, "w-0"))
	s.Start()
	f.pods("w-0", "w-1")
	s.Fail(fakekube.Failure{Code: http.StatusForbidden, Count: 1})
	require.Contains(t, f.failing(rendezvous.Forbidden, "").Err.Hint(), `verbs: ["get"]`)
	f.pods("w-0", "w-1")
}

// gate blocks callers until open is closed. asked gets a value when a caller waits.
type gate struct{ asked, open chan struct{} }

func (g gate) Wait(ctx context.Context) error {
	select {
	case g.asked <- struct{}{}:
	default:
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestWatchWaitsAtTheGate(t *testing.T) {
	s := fakekube.New(t)
	s.Set(worker(t, "w-0"))
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	f := follow(t, s, func(w *rendezvous.Watch) { w.Gate = g })
	<-g.asked
	require.Empty(t, s.Requests(), "no request is sent while the gate is closed")
	close(g.open)
	f.pods("w-0")
}

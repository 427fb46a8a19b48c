package rendezvous_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/rendezvous"
)

// answers is an API server inside a synctest bubble. Its response depends on the time since it was
// created.
type answers func(elapsed time.Duration, r *http.Request) (code int, hang bool)

// run runs a Watch against this server for at most limit, in names mode (a series of polls, no
// streams) or in selector mode.
func (a answers) run(t *testing.T, w rendezvous.Watch, limit time.Duration) (asked []time.Duration, snaps []rendezvous.Snapshot, err error) {
	start := time.Now()
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, time.Since(start))
		code, hang := a(time.Since(start), r)
		if hang {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		body := map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": http.StatusText(code), "message": http.StatusText(code)}
		if code == http.StatusOK {
			body = map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"name": "w-0", "resourceVersion": fmt.Sprint(len(asked))}}
		}
		data, err := json.Marshal(body)
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), Request: r}, err
	})
	client, err := rendezvous.Client(&rest.Config{Host: "http://api", Transport: transport})
	require.NoError(t, err)
	w.Client, w.Namespace = client, "hpc"
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out := make(chan rendezvous.Snapshot, 100_000)
	err = w.Run(ctx, out)
	close(out)
	for s := range out {
		snaps = append(snaps, s)
	}
	return asked, snaps, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var byName = rendezvous.Watch{Names: []string{"w-0"}}

func TestFirstDenialIsTerminalAfterAGrace(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusUnauthorized} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, snaps, err := answers(func(time.Duration, *http.Request) (int, bool) { return code, false }).run(t, byName, time.Hour)
			require.Error(t, err)
			require.InDelta(t, rendezvous.ForbiddenGrace.Seconds(), time.Since(start).Seconds(), 2)
			require.NotNil(t, snaps[0].Err, "the first denial is reported at once")
			require.Less(t, snaps[0].At.Sub(start), time.Second)
		})
	}
}

func TestLaterDenialIsTerminalAfterFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, _, err := answers(func(at time.Duration, _ *http.Request) (int, bool) {
			if at < 100*time.Second {
				return http.StatusOK, false
			}
			return http.StatusForbidden, false
		}).run(t, byName, time.Hour)
		require.Error(t, err)
		require.InDelta(t, 115, time.Since(start).Seconds(), 4)
	})
}

// TestDenialsAmongOtherFailuresAreNotTerminal checks that only an unbroken series of denials is
// terminal, however long everything takes. A restarted API server refuses connections, then answers
// 403 for a while, then works.
func TestDenialsAmongOtherFailuresAreNotTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, _, err := answers(func(at time.Duration, _ *http.Request) (int, bool) {
			if int(at.Seconds())%10 < 3 {
				return http.StatusServiceUnavailable, false
			}
			return http.StatusForbidden, false
		}).run(t, byName, 10*time.Minute)
		require.NoError(t, err, "Run must end only with its context")
		require.Greater(t, len(asked), 500)
	})
}

func TestRetriesAreQuarterToOneSecondApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, _, err := answers(func(time.Duration, *http.Request) (int, bool) { return http.StatusServiceUnavailable, false }).run(t, byName, 5*time.Minute)
		require.NoError(t, err)
		for i := 1; i < len(asked); i++ {
			gap := asked[i] - asked[i-1]
			require.GreaterOrEqual(t, gap, 125*time.Millisecond)
			require.LessOrEqual(t, gap, 1500*time.Millisecond)
		}
	})
}

// TestHangingServerIsRetried checks that a request to a stopped API server, which may hang
// forever, is given up and retried.
func TestHangingServerIsRetried(t *testing.T) {
	for _, w := range []rendezvous.Watch{byName, {Selector: "a=b"}} {
		synctest.Test(t, func(t *testing.T) {
			asked, snaps, err := answers(func(time.Duration, *http.Request) (int, bool) { return 0, true }).run(t, w, time.Minute)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(asked), 3)
			require.Equal(t, rendezvous.Unreachable, snaps[0].Err.Code)
		})
	}
}

func TestPollingWithoutChangesSendsNoSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, snaps, err := answers(func(time.Duration, *http.Request) (int, bool) { return http.StatusNotFound, false }).run(t, byName, time.Minute)
		require.NoError(t, err)
		require.Len(t, snaps, 1)
		require.InDelta(t, 30, len(asked), 2)
	})
}

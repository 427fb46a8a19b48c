package kubelets

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNodesAreReadInPages checks what is asked for, how often, and what a refusal means.
func TestNodesAreReadInPages(t *testing.T) {
	good, bad := [2]string{"v1.37.2", "containerd://2.4.2"}, [2]string{"v1.33.1", "containerd://2.4.2"}
	var second atomic.Value // the node of the second page
	var asked atomic.Int32
	var refused atomic.Bool
	second.Store(good)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if refused.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		q := r.URL.Query()
		if r.URL.Path != "/api/v1/nodes" || q.Get("includeObject") != "None" || q.Get("limit") != "500" || r.Header.Get("Accept") != "application/json;as=Table;v=v1;g=meta.k8s.io" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		page := table(good)
		page.Continue = "more"
		if q.Get("continue") == "more" {
			page = table(second.Load().([2]string))
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	clock := testclock.NewFakePassiveClock(time.Now())
	n, err := New(&rest.Config{Host: server.URL}, clock)
	require.NoError(t, err)

	require.True(t, n.MountImages(t.Context()))
	require.True(t, n.MountImages(t.Context()))
	require.EqualValues(t, 2, asked.Load(), "two pages, once")

	second.Store(bad)
	require.True(t, n.MountImages(t.Context()), "the answer is kept for a while")
	clock.SetTime(clock.Now().Add(age))
	require.False(t, n.MountImages(t.Context()), "a node of the second page is too old")

	refused.Store(true)
	clock.SetTime(clock.Now().Add(age))
	before := asked.Load()
	require.False(t, n.MountImages(t.Context()))
	require.False(t, n.MountImages(t.Context()))
	require.EqualValues(t, before+1, asked.Load(), "a refusal is an answer")
}

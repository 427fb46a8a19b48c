package fakekube_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/fakekube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const podsPath = "/api/v1/namespaces/default/pods"

func pod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// watch opens a watch and returns its decoder.
func watch(t *testing.T, s *fakekube.Server, query string) *json.Decoder {
	resp, err := client(t).Get(s.URL() + podsPath + "?watch=true&" + query)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return json.NewDecoder(resp.Body)
}

type frame struct {
	Type   string
	Object struct {
		Code     int
		Metadata struct{ Name, ResourceVersion string }
	}
}

func next(t *testing.T, d *json.Decoder) frame {
	var f frame
	require.NoError(t, d.Decode(&f))
	return f
}

func TestListGetSelect(t *testing.T) {
	s := fakekube.New(t)
	s.Set(pod("w-0", map[string]string{"job": "pi"}))
	s.Set(pod("other", nil))
	c := client(t)
	resp, err := c.Get(s.URL() + podsPath + "?labelSelector=" + url.QueryEscape("job=pi"))
	require.NoError(t, err)
	var list corev1.PodList
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	require.Len(t, list.Items, 1)
	require.Equal(t, "w-0", list.Items[0].Name)
	require.NotEmpty(t, list.Items[0].UID)
	require.NotEmpty(t, list.ResourceVersion)

	for path, code := range map[string]int{
		podsPath + "/w-0": 200, podsPath + "/w-9": 404, podsPath + "?labelSelector=a%3D%3D%3Db": 400, "/api/v1/nodes": 404,
	} {
		resp, err := c.Get(s.URL() + path)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.Equal(t, code, resp.StatusCode, path)
	}
}

func TestWatchSeesChangesSelectorsBookmarksAndExpiry(t *testing.T) {
	s := fakekube.New(t)
	s.Set(pod("w-0", map[string]string{"job": "pi"}))
	d := watch(t, s, "resourceVersion=100&allowWatchBookmarks=true&labelSelector=job%3Dpi")
	require.Equal(t, "ADDED", next(t, d).Type)
	s.Set(pod("unseen", nil))
	s.Edit("default", "w-0", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	require.Equal(t, "MODIFIED", next(t, d).Type)
	s.Edit("default", "w-0", func(p *corev1.Pod) { p.Labels = nil })
	require.Equal(t, "DELETED", next(t, d).Type, "the pod no longer matches")
	s.Bookmark()
	mark := next(t, d)
	require.Equal(t, "BOOKMARK", mark.Type)
	require.Empty(t, mark.Object.Metadata.Name)
	s.Compact()
	gone := next(t, d)
	require.Equal(t, "ERROR", gone.Type)
	require.Equal(t, http.StatusGone, gone.Object.Code)
	require.ErrorIs(t, d.Decode(&frame{}), io.EOF)
	require.Equal(t, "ERROR", next(t, watch(t, s, "resourceVersion=100")).Type, "a version from before the compaction")
}

func TestDropStopStartAndFailures(t *testing.T) {
	s := fakekube.New(t)
	s.Set(pod("w-0", nil))
	d := watch(t, s, "resourceVersion=100")
	require.Equal(t, "ADDED", next(t, d).Type)
	require.Equal(t, 1, s.Drop())
	require.Error(t, d.Decode(&frame{}))

	c := client(t)
	get := func() int {
		resp, err := c.Get(s.URL() + podsPath)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	s.Fail(fakekube.Failure{Code: 403, Count: 2})
	require.Equal(t, []int{403, 403, 200}, []int{get(), get(), get()})
	s.Stop()
	require.Zero(t, get(), "refused while stopped")
	s.Start()
	require.Equal(t, 200, get(), "same port, same pods")
	s.Fail(fakekube.Failure{Code: 503})
	require.Equal(t, []int{503, 503}, []int{get(), get()})
	s.Heal()
	require.Equal(t, 200, get())
	require.True(t, s.Requests()[0].Watch())
}

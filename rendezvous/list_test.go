package rendezvous_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fakekube"
)

// lists returns the queries of the requests that listed pods.
func lists(t *testing.T, s *fakekube.Server) (queries []url.Values) {
	t.Helper()
	for _, r := range s.Requests() {
		query, err := url.ParseQuery(r.Query)
		require.NoError(t, err)
		if !r.Watch() {
			queries = append(queries, query)
		}
	}
	return queries
}

// TestManyPodsAreReadInPages checks that no pod is missed between two pages, or after the last one.
func TestManyPodsAreReadInPages(t *testing.T) {
	s := fakekube.New(t)
	for i := range 1100 {
		s.Set(worker(t, fmt.Sprintf("w-%04d", i)))
	}
	during := false
	s.Fail(fakekube.Failure{Code: http.StatusInternalServerError, Match: func(r *http.Request) bool {
		if r.URL.Query().Get("continue") != "" && !during {
			during = true
			go s.Set(worker(t, "a-new")) // belongs to the first page, which was read already
		}
		return false
	}})
	f := follow(t, s, nil)
	shot := f.until("all pods are known", func(shot rendezvous.Snapshot) bool { return len(shot.Pods) == 1101 })
	require.Equal(t, "a-new", shot.Pods[0].Name)
	queries := lists(t, s)
	require.Len(t, queries, 3)
	for i, query := range queries {
		require.Equal(t, "500", query.Get("limit"))
		require.Equal(t, i > 0, query.Get("continue") != "")
	}
}

// TestExpiredPageStartsTheListAgain compacts the versions of a list while it is read.
func TestExpiredPageStartsTheListAgain(t *testing.T) {
	s := fakekube.New(t)
	for i := range 600 {
		s.Set(worker(t, fmt.Sprintf("w-%03d", i)))
	}
	s.Fail(fakekube.Failure{Code: http.StatusGone, Count: 1, Match: func(r *http.Request) bool { return r.URL.Query().Get("continue") != "" }})
	f := follow(t, s, nil)
	shot := f.until("all pods are known", func(shot rendezvous.Snapshot) bool { return len(shot.Pods) > 0 })
	require.Len(t, shot.Pods, 600, "no half of a list is taken for the whole")
	require.Nil(t, shot.Err)
	require.Len(t, lists(t, s), 4)
}

// TestPodsAreKeptSlim checks that what nobody reads of a pod is not kept.
func TestPodsAreKeptSlim(t *testing.T) {
	s := fakekube.New(t)
	full := worker(t, "w-0")
	full.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "kept": "yes"}
	full.Spec.Volumes = []corev1.Volume{{Name: "token"}}
	full.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready"}}
	c := &full.Spec.Containers[0]
	c.VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/token"}}
	c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
	c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	s.Set(full)
	f := follow(t, s, nil)
	for _, set := range []func(){func() {}, func() { s.Set(full) }} { // by a list, and by a watch
		set()
		pod := f.until("the pod is known", func(shot rendezvous.Snapshot) bool { return len(shot.Pods) == 1 }).Pods[0]
		require.Equal(t, map[string]string{"kept": "yes"}, pod.Annotations)
		require.Empty(t, pod.Spec.Volumes)
		require.Empty(t, pod.Spec.Tolerations)
		require.Empty(t, pod.Spec.Containers[0].VolumeMounts)
		require.Nil(t, pod.Spec.Containers[0].ReadinessProbe)
		require.Equal(t, []corev1.EnvVar{{Name: "A", Value: "1"}}, pod.Spec.Containers[0].Env)
		require.NotEmpty(t, pod.Status.ContainerStatuses)
	}
}

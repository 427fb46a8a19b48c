package gang

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func TestChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		queue   string
		label   string
		claimed string
		served  []string
		want    string
	}{
		"a queue":                            {queue: "gold", served: []string{Workload, Volcano}, want: Kueue},
		"a queue in Kueue's label":           {label: "gold", served: []string{Workload}, want: Kueue},
		"a queue, and no Kueue":              {queue: "gold", want: Kueue},
		"a template that asks for Volcano":   {claimed: Volcano, served: []string{Workload, Volcano}, want: Volcano},
		"Kubernetes' own, Volcano":           {served: []string{Volcano, Workload}, want: Workload},
		"Volcano, coscheduling":              {served: []string{Coscheduling, Volcano}, want: Volcano},
		"coscheduling":                       {served: []string{Coscheduling}, want: Coscheduling},
		"Kueue, but the job is in no queue":  {served: []string{Kueue}, want: None},
		"a cluster without a gang scheduler": {want: None},
	} {
		t.Run(name, func(t *testing.T) {
			job := &v1alpha1.LaunchJob{Spec: v1alpha1.LaunchJobSpec{Gang: &v1alpha1.Gang{Backend: Auto, Queue: tc.queue}}}
			if tc.label != "" {
				job.Labels = map[string]string{"kueue.x-k8s.io/queue-name": tc.label}
			}
			got, why, err := Choose(job, tc.claimed, func(kind schema.GroupKind) (bool, error) {
				for _, backend := range tc.served {
					if served, _ := Kind(backend); served == kind {
						return true, nil
					}
				}
				return false, nil
			})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
			require.NotEmpty(t, why)
		})
	}
	_, _, err := Choose(&v1alpha1.LaunchJob{Spec: v1alpha1.LaunchJobSpec{Gang: &v1alpha1.Gang{Backend: Auto}}}, "",
		func(schema.GroupKind) (bool, error) { return false, errors.New("no answer") })
	require.EqualError(t, err, "look for PodGroup of scheduling.k8s.io: no answer")
}

// TestWorkloadVersions checks the fields of Kubernetes' own PodGroup: 1.36 rejects two of them.
func TestWorkloadVersions(t *testing.T) {
	job := &v1alpha1.LaunchJob{Spec: v1alpha1.LaunchJobSpec{Gang: &v1alpha1.Gang{Backend: Workload, PriorityClassName: "high"}}}
	spec := func(version string) any {
		u := Group{Job: job, Pods: 3}.Object(metav1.ObjectMeta{Name: "pi"}, version)
		require.Equal(t, "scheduling.k8s.io/"+version, u.GetAPIVersion())
		return u.Object["spec"]
	}
	policy := map[string]any{"gang": map[string]any{"minCount": int64(3)}}
	require.Equal(t, map[string]any{"schedulingPolicy": policy}, spec("v1alpha2"))
	require.Equal(t, map[string]any{"schedulingPolicy": policy, "priorityClassName": "high", "disruptionMode": map[string]any{"all": map[string]any{}}}, spec("v1beta1"))
}

// TestMessagesOfSchedulers checks that the messages of the schedulers say why the gang waits.
func TestMessagesOfSchedulers(t *testing.T) {
	group := func(conditions ...any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
		u.SetName("pi")
		u.SetKind("PodGroup")
		return u
	}
	at := func(kind, message, time string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "message": message, "lastTransitionTime": "2026-11-01T12:00:" + time + "Z"}
	}
	no, yes := at("Unschedulable", "3/4 tasks in gang unschedulable", "05"), at("Scheduled", "", "03")
	says := "PodGroup pi: 3/4 tasks in gang unschedulable"
	require.Empty(t, Says(group()))
	require.Empty(t, Says(group(yes)))
	require.Equal(t, says, Says(group(yes, no)))
	require.Equal(t, says, Says(group(no, yes)), "the list order is by first occurrence, so the later time decides")
	require.Empty(t, Says(group(no, at("Scheduled", "", "09"))), "the gang was scheduled later")
	for _, kind := range []string{"PodGroupScheduled", "PodGroupInitiallyScheduled"} {
		c := at(kind, "3/4 tasks in gang unschedulable", "05")
		require.Empty(t, Says(group(c)))
		c["status"] = "False"
		require.Equal(t, says, Says(group(c)))
	}
}

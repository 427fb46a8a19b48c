package controller

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

// TestGangs checks the objects and labels for each scheduler except Volcano, which has a golden
// file.
func TestGangs(t *testing.T) {
	for name, tc := range map[string]struct {
		gang      v1alpha1.Gang
		spec      map[string]any // of the gang's object; nil if the scheduler needs no object
		scheduler string
		label     map[string]string
	}{
		"none": {gang: v1alpha1.Gang{Backend: "none"}},
		"coscheduling": {v1alpha1.Gang{Backend: gang.Coscheduling, PriorityClassName: "high"}, map[string]any{"minMember": int64(3)},
			"scheduler-plugins-scheduler", map[string]string{"scheduling.x-k8s.io/pod-group": "pi"}},
		"coscheduling, minMember": {v1alpha1.Gang{Backend: gang.Coscheduling, MinMember: new(int32(2)), SchedulerName: "own"}, map[string]any{"minMember": int64(2)},
			"own", map[string]string{"scheduling.x-k8s.io/pod-group": "pi"}},
		"workload": {v1alpha1.Gang{Backend: gang.Workload}, map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(3)}}, "disruptionMode": map[string]any{"all": map[string]any{}}},
			"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, "mpi")
			job.Spec.Gang = &tc.gang
			b := aBuilder(job)
			require.NoError(t, refuse(b))
			u := b.gang().Object(children.Meta(b.job, "pi"), "v1")
			if tc.spec == nil {
				require.Nil(t, u)
			} else {
				spec, _, err := unstructured.NestedMap(u.Object, "spec")
				require.NoError(t, err)
				require.Equal(t, tc.spec, spec)
			}
			for _, s := range b.slots {
				pod := b.pod(s, s.name)
				require.Equal(t, tc.scheduler, pod.Spec.SchedulerName)
				require.Equal(t, tc.gang.PriorityClassName, pod.Spec.PriorityClassName)
				require.Subset(t, pod.Labels, tc.label)
				if tc.gang.Backend == gang.Workload {
					require.Equal(t, "pi", *pod.Spec.SchedulingGroup.PodGroupName)
				}
			}
		})
	}
}

// TestGangKindGone checks the message for a kind that was served when the controller started and
// was removed since: the job reports it as missing.
func TestGangKindGone(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	remembers := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	remembers.Add(kind, meta.RESTScopeNamespace)
	gone := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "404 page not found", 0, true)
	c := fakeapi.New(scheme.Scheme).WithRESTMapper(remembers).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return gone
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return gone
		},
	}).Build()
	job := aJob(t, "mpi")
	job.Spec.Gang = &v1alpha1.Gang{Backend: gang.Volcano}
	b := aBuilder(job)
	r := &Reconciler{Client: c, Reader: c}
	_, err := r.gangObject(t.Context(), b, scene{steps: steps{create: []birth{{slot: b.slots[0]}}}})
	said := obstacleOf(err)
	require.NotNil(t, said)
	require.Equal(t, reasonNoGang, said.reason)
	require.Contains(t, said.message, "this cluster has no PodGroup of scheduling.volcano.sh")
}

// TestGangIsChosenOnce checks that gang.backend auto takes what the cluster serves, says so in an event and in the
// status, and stays with it until the job is suspended.
func TestGangIsChosenOnce(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"}
	serves := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	serves.Add(kind, meta.RESTScopeNamespace)
	job := aJob(t, "mpi")
	job.Spec.Gang = &v1alpha1.Gang{Backend: gang.Auto}
	choose := func(mapper meta.RESTMapper) choice {
		r := &Reconciler{Client: fakeapi.New(scheme.Scheme).WithRESTMapper(mapper).Build()}
		chosen, err := r.chooseGang(job, layout(job))
		require.NoError(t, err)
		return chosen
	}
	none := choose(meta.NewDefaultRESTMapper(nil))
	require.Equal(t, gang.None, none.backend)
	chosen := choose(serves)
	require.Equal(t, choice{gang.Workload, "the cluster has PodGroup of scheduling.k8s.io"}, chosen)

	recorder := events.NewFakeRecorder(4)
	r := &Reconciler{Events: recorder}
	r.tell(job, v1alpha1.LaunchJobStatus{}, v1alpha1.LaunchJobStatus{}, scene{gang: chosen})
	r.tell(job, v1alpha1.LaunchJobStatus{}, v1alpha1.LaunchJobStatus{}, scene{gang: none})
	require.Equal(t, "Normal GangChosen gang.backend auto: workload, because the cluster has PodGroup of scheduling.k8s.io", <-recorder.Events)
	require.Contains(t, <-recorder.Events, "Warning GangChosen gang.backend auto: none, because the cluster has no gang scheduler")

	job.Status = newStatus(job, scene{gang: chosen})
	require.Equal(t, gang.Workload, job.Status.Gang)
	require.Zero(t, choose(meta.NewDefaultRESTMapper(nil)), "it is chosen already")
	require.Equal(t, "pi", *aBuilder(job).pod(layout(job)[0], "pi-launcher").Spec.SchedulingGroup.PodGroupName)
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{Suspend: true}
	job.Status = newStatus(job, scene{})
	require.Empty(t, job.Status.Gang)
	require.Zero(t, choose(serves), "a suspended job needs none yet")
}

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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/musterhq/muster/agent/api/v1alpha1"
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
		"coscheduling": {v1alpha1.Gang{Backend: coscheduling, PriorityClassName: "high"}, map[string]any{"minMember": int64(3)},
			"scheduler-plugins-scheduler", map[string]string{coschedulingGroup: "pi"}},
		"coscheduling, minMember": {v1alpha1.Gang{Backend: coscheduling, MinMember: new(int32(2)), SchedulerName: "own"}, map[string]any{"minMember": int64(2)},
			"own", map[string]string{coschedulingGroup: "pi"}},
		"kueue": {v1alpha1.Gang{Backend: kueue, Queue: "gold"}, nil, "", map[string]string{kueueQueue: "gold", kueueGroup: "pi"}},
		"workload": {v1alpha1.Gang{Backend: workload}, map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(3)}}},
			"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, "mpi")
			job.Spec.Gang = &tc.gang
			b := aBuilder(job)
			require.NoError(t, refuse(b))
			u := b.gang("v1")
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
				if tc.gang.Backend == kueue {
					require.Equal(t, "3", pod.Annotations[kueueTotal], "the total includes the launcher")
				}
				if tc.gang.Backend == workload {
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
	job.Spec.Gang = &v1alpha1.Gang{Backend: volcano}
	b := aBuilder(job)
	r := &Reconciler{Client: c, Reader: c}
	_, err := r.gangObject(t.Context(), b, scene{steps: steps{create: []birth{{slot: b.slots[0]}}}})
	said := obstacleOf(err)
	require.NotNil(t, said)
	require.Equal(t, reasonNoGang, said.reason)
	require.Contains(t, said.message, "this cluster has no PodGroup of scheduling.volcano.sh")
}

// TestKueue checks that the controller creates no pods without Kueue. With Kueue, the condition of
// its Workload is the reason.
func TestKueue(t *testing.T) {
	job := aJob(t, "mpi")
	job.Spec.Gang = &v1alpha1.Gang{Backend: kueue, Queue: "gold"}
	b := aBuilder(job)
	waiting := scene{steps: steps{create: []birth{{slot: b.slots[0]}}}}
	look := func(mapper meta.RESTMapper, has ...client.Object) (*obstacle, error) {
		c := fakeapi.New(scheme.Scheme).WithRESTMapper(mapper).WithObjects(has...).Build()
		return (&Reconciler{Client: c, Reader: c}).gangObject(t.Context(), b, waiting)
	}
	_, err := look(meta.NewDefaultRESTMapper(nil))
	require.NotNil(t, obstacleOf(err))
	require.Equal(t, reasonNoGang, obstacleOf(err).reason)

	kind := schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "Workload"}
	serves := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	serves.Add(kind, meta.RESTScopeNamespace)
	said, err := look(serves)
	require.NoError(t, err)
	require.Nil(t, said, "Kueue has not seen the pods yet")

	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota"}}}}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(job.Namespace)
	u.SetName(job.Name)
	said, err = look(serves, u)
	require.NoError(t, err)
	require.Equal(t, &obstacle{"GangUnschedulable", "Workload pi: insufficient unused quota"}, said)
}

// TestMessagesOfGangSchedulers checks that the messages of the schedulers become the job's reason.
func TestMessagesOfGangSchedulers(t *testing.T) {
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
	says := &obstacle{"GangUnschedulable", "PodGroup pi: 3/4 tasks in gang unschedulable"}
	require.Nil(t, gangSays(group()))
	require.Nil(t, gangSays(group(yes)))
	require.Equal(t, says, gangSays(group(yes, no)))
	require.Equal(t, says, gangSays(group(no, yes)), "the list order is by first occurrence, so the later time decides")
	require.Nil(t, gangSays(group(no, at("Scheduled", "", "09"))), "the gang was scheduled later")
	for _, kind := range []string{"PodGroupScheduled", "PodGroupInitiallyScheduled", "QuotaReserved"} {
		c := at(kind, "3/4 tasks in gang unschedulable", "05")
		require.Nil(t, gangSays(group(c)))
		c["status"] = "False"
		require.Equal(t, says, gangSays(group(c)))
	}
}

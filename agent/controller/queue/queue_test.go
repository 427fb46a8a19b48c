package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

func noon() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// aClient returns a client of a cluster with or without Kueue, in which objects exist.
func aClient(t *testing.T, installed bool, exist ...client.Object) Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, schedulingv1.AddToScheme(scheme))
	for _, kind := range []string{"Workload", "ResourceFlavor", "WorkloadPriorityClass"} {
		if installed {
			scheme.AddKnownTypeWithName(workloadKind.GroupVersion().WithKind(kind), &unstructured.Unstructured{})
			scheme.AddKnownTypeWithName(workloadKind.GroupVersion().WithKind(kind+"List"), &unstructured.UnstructuredList{})
		}
	}
	b := fakeapi.New(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(exist...)
	if installed {
		b = b.WithStatusSubresource(anObject("Workload", "", nil))
	}
	c := b.Build()
	return Client{Writer: children.Writer{Client: c, Reader: c}}
}

// anObject returns an object of Kueue. A Workload is in the namespace of the job.
func anObject(kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		u.Object[field] = value
	}
	u.SetGroupVersionKind(workloadKind.GroupVersion().WithKind(kind))
	u.SetName(name)
	if kind == "Workload" {
		u.SetNamespace("hpc")
	}
	return u
}

func aJob(labels map[string]string) *v1alpha1.LaunchJob {
	return &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi", UID: "u-1", Labels: labels}}
}

// ask asks about a job with one worker, without pods.
func ask(t *testing.T, c Client, job *v1alpha1.LaunchJob, template corev1.PodSpec) (Line, error) {
	t.Helper()
	return c.Ask(t.Context(), job, func(version string) kueue.Request {
		return kueue.Request{
			Meta: children.Meta(job, job.Name), Version: version, Labels: job.Labels, Queue: "gold",
			PodSets: []kueue.PodSet{{Name: "worker", Count: 1, Template: &corev1.PodTemplateSpec{Spec: template}}},
		}
	}, 0, noon())
}

// TestAskAndStep plays a job from its Workload to its end.
func TestAskAndStep(t *testing.T) {
	c, job := aClient(t, true), aJob(nil)
	l, err := ask(t, c, job, corev1.PodSpec{})
	require.NoError(t, err)
	require.Equal(t, kueue.Create, l.Step)
	require.False(t, l.Open())
	again := l.Decision
	again.Object = again.Object.DeepCopy()
	require.NoError(t, c.Step(t.Context(), job, l.Decision))
	l, err = ask(t, c, job, corev1.PodSpec{})
	require.NoError(t, err)
	require.Equal(t, kueue.Nothing, l.Step)
	require.Len(t, l.All, 1)
	require.NoError(t, c.Step(t.Context(), job, again), "a controller that was killed creates it again")
	waits, err := c.Leave(t.Context(), job, l, 1, noon())
	require.NoError(t, err)
	require.True(t, waits, "a pod still uses the quota")
	job.Status.CompletionTime = &metav1.Time{Time: noon()}
	require.NoError(t, c.Conclude(t.Context(), job, l, noon()))
	l, err = ask(t, c, job, corev1.PodSpec{})
	require.NoError(t, err)
	require.True(t, l.All[0].Finished())
	require.Equal(t, kueue.Decision{Keep: true}, l.Decision, "nothing is decided for a job that has ended")
	waits, err = c.Leave(t.Context(), job, l, 0, noon())
	require.NoError(t, err)
	require.False(t, waits)
	require.ErrorIs(t, c.Step(t.Context(), job, kueue.Leave(l.All[0], noon())), ErrStale, "it is gone")
	l, err = ask(t, c, job, corev1.PodSpec{})
	require.NoError(t, err)
	require.Empty(t, l.All)
}

// TestStale checks that a write of an outdated Workload changes nothing.
func TestStale(t *testing.T) {
	u := anObject("Workload", "pi", map[string]any{"spec": map[string]any{"active": true}})
	c := aClient(t, true, u)
	require.NoError(t, c.Reader.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	old := u.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(u.Object, false, "spec", "active"))
	require.NoError(t, c.Step(t.Context(), aJob(nil), kueue.Decision{Step: kueue.Update, Object: u}))
	require.NoError(t, unstructured.SetNestedField(old.Object, "gold", "spec", "queueName"))
	require.ErrorIs(t, c.Step(t.Context(), aJob(nil), kueue.Decision{Step: kueue.Update, Object: old}), ErrStale)
	require.NoError(t, c.Reader.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	require.Equal(t, map[string]any{"active": false}, u.Object["spec"])
}

// TestAskWithoutKueue checks which error a job in a queue gets in a cluster without Kueue.
func TestAskWithoutKueue(t *testing.T) {
	l, err := ask(t, aClient(t, false), aJob(nil), corev1.PodSpec{})
	var missing *gang.Missing
	require.ErrorAs(t, err, &missing)
	require.Equal(t, kueue.Decision{Keep: true}, l.Decision, "pods stay")
	require.False(t, l.Open())
}

// TestWorkloadOfOthers checks that a Workload of another owner is not used, and that one without an owner is adopted
// if the job names it.
func TestWorkloadOfOthers(t *testing.T) {
	theirs := anObject("Workload", "pi", map[string]any{"spec": map[string]any{"podSets": []any{}}})
	_, err := ask(t, aClient(t, true, theirs), aJob(nil), corev1.PodSpec{})
	var taken *children.Taken
	require.ErrorAs(t, err, &taken)

	prebuilt := anObject("Workload", "made", map[string]any{"spec": map[string]any{"podSets": []any{map[string]any{"name": "worker", "count": int64(1)}}}})
	c, job := aClient(t, true, prebuilt), aJob(map[string]string{"kueue.x-k8s.io/prebuilt-workload-name": "made"})
	l, err := ask(t, c, job, corev1.PodSpec{})
	require.NoError(t, err)
	require.True(t, metav1.IsControlledBy(l.All[0], job))
	require.NoError(t, c.Reader.Get(t.Context(), client.ObjectKeyFromObject(prebuilt), prebuilt))
	require.True(t, metav1.IsControlledBy(prebuilt, job))
}

// TestPriority checks which priority a job has in its queue.
func TestPriority(t *testing.T) {
	class := func(name string, value int32) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: name == "usual"}
	}
	c := aClient(t, true, class("high", 9), class("usual", 1), anObject("WorkloadPriorityClass", "team", map[string]any{"value": int64(5)}))
	for name, row := range map[string]struct {
		label, gang, template string
		want                  *kueue.Priority
		refused               string
	}{
		"none":                {want: &kueue.Priority{Class: "usual", Value: 1}},
		"of a template":       {template: "high", want: &kueue.Priority{Class: "high", Value: 9}},
		"of the gang":         {gang: "high", template: "usual", want: &kueue.Priority{Class: "high", Value: 9}},
		"of Kueue":            {label: "team", gang: "high", want: &kueue.Priority{Class: "team", OfKueue: true, Value: 5}},
		"that does not exist": {gang: "x", refused: "there is no PriorityClass x"},
		"unknown to Kueue":    {label: "high", refused: "there is no WorkloadPriorityClass high"},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(map[string]string{"kueue.x-k8s.io/priority-class": row.label})
			job.Spec.Gang = &v1alpha1.Gang{PriorityClassName: row.gang}
			l, err := ask(t, c, job, corev1.PodSpec{PriorityClassName: row.template})
			if row.refused != "" {
				var obstacle *Obstacle
				require.ErrorAs(t, err, &obstacle)
				require.Equal(t, kueue.Rejected, obstacle.Reason)
				require.Contains(t, obstacle.Message, row.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.want, l.Want.Priority)
		})
	}
}

// TestFlavors checks that new pods get what their ResourceFlavor says, and that contradictions are refused.
func TestFlavors(t *testing.T) {
	c, job := aClient(t, true, anObject("ResourceFlavor", "gpus", map[string]any{"spec": map[string]any{"nodeLabels": map[string]any{"pool": "a100"}}})), aJob(nil)
	l, err := ask(t, c, job, corev1.PodSpec{})
	require.NoError(t, err)
	require.NoError(t, c.Step(t.Context(), job, l.Decision))
	u := anObject("Workload", "pi", nil)
	require.NoError(t, c.Reader.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	yes := func(kind string) any {
		return map[string]any{"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": noon().Format(time.RFC3339)}
	}
	u.Object["status"] = map[string]any{
		"conditions": []any{yes("QuotaReserved"), yes("Admitted")},
		"admission":  map[string]any{"clusterQueue": "cluster", "podSetAssignments": []any{map[string]any{"name": "worker", "count": int64(1), "flavors": map[string]any{"cpu": "gpus"}}}},
	}
	require.NoError(t, c.Client.Status().Update(t.Context(), u))
	for pool, message := range map[string]string{"a100": "", "v100": `role worker: nodeSelector pool is "v100"`} {
		l, err = ask(t, c, job, corev1.PodSpec{})
		require.NoError(t, err)
		require.True(t, l.Open())
		template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": pool}}}
		err := c.Flavors(t.Context(), l, []string{"worker"}, map[string]*corev1.PodTemplateSpec{"worker": template})
		if message != "" {
			require.ErrorContains(t, err, message)
			continue
		}
		require.NoError(t, err)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
		p := l.Places["worker"]
		p.Put(pod)
		require.Equal(t, map[string]string{"pool": "a100"}, pod.Spec.NodeSelector)
	}
	var obstacle *Obstacle
	require.ErrorAs(t, c.Flavors(t.Context(), l, []string{"server"}, nil), &obstacle)
	require.Equal(t, kueue.Waits, obstacle.Reason)
}

// TestLimited checks that only an elastic job runs with fewer workers.
func TestLimited(t *testing.T) {
	job := aJob(nil)
	job.Spec.Workers = new(int32(4))
	l := Line{On: true, Decision: kueue.Decision{Pods: true, Limit: map[string]int{"worker": 2}}}
	require.Same(t, job, l.Limited(job))
	job.Spec.Elastic = &v1alpha1.Elastic{Min: 1, Max: 8}
	require.EqualValues(t, 2, *l.Limited(job).Spec.Workers)
	require.EqualValues(t, 4, *job.Spec.Workers, "the job itself does not change")
	require.Same(t, job, Line{}.Limited(job))
}

package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

const (
	zone  = "topology.kubernetes.io/zone"
	block = "network.topology.nvidia.com/block"
)

// world is an API server with a job, its workers and the nodes n0 (zone, block), n1 (zone) and n2 (no
// labels). It counts the reads of nodes and the patches of pods. refuse names what is forbidden.
type world struct {
	*Reconciler
	t              *testing.T
	reads, patches int
	refuse         string
	said           *events.FakeRecorder
	clock          *clocktesting.FakePassiveClock
}

func newWorld(t *testing.T, job *v1alpha1.LaunchJob, pods ...*corev1.Pod) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)))
	b := fakeapi.New(scheme).WithObjects(job)
	for _, p := range pods {
		b = b.WithObjects(p)
	}
	for name, labels := range map[string]map[string]string{"n0": {zone: "z", block: "b", "other": "x"}, "n1": {zone: "z"}, "n2": nil} {
		b = b.WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	w := &world{t: t, said: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(time.Now())}
	forbidden := func(kind string) error {
		if w.refuse == kind {
			return apierrors.NewForbidden(corev1.Resource(kind), "x", errors.New("no"))
		}
		return nil
	}
	c := b.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "Node" {
				require.IsType(t, &metav1.PartialObjectMetadata{}, o, "only metadata of a node is read")
				w.reads++
				if err := forbidden("nodes"); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			w.patches++
			if err := forbidden("pods"); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	w.Reconciler = &Reconciler{Client: c, Reader: c, Events: w.said, Clock: w.clock, Reason: "TopologyUnknown"}
	return w
}

func aJob() *v1alpha1.LaunchJob {
	return &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi", UID: "u-1"},
		Spec: v1alpha1.LaunchJobSpec{Launcher: &v1alpha1.Launcher{}, Roles: []v1alpha1.Role{{Name: names.RoleWorker}}}}
}

// aWorker returns the worker with this number on the node with that number, if the node is not
// negative.
func aWorker(job *v1alpha1.LaunchJob, index, node int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: fmt.Sprintf("pi-worker-%d", index), Annotations: map[string]string{"note": "kept"},
		Labels:          map[string]string{names.LabelJob: job.Name, names.LabelRole: names.RoleWorker},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.Version().WithKind(v1alpha1.Kind))}}}
	if node >= 0 {
		p.Spec.NodeName = fmt.Sprintf("n%d", node)
	}
	return p
}

// after reconciles a pod and returns its topology.
func (w *world) after(pod *corev1.Pod) string {
	w.t.Helper()
	_, err := w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)})
	require.NoError(w.t, err)
	have := &corev1.Pod{}
	require.NoError(w.t, w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(pod), have))
	require.Equal(w.t, "kept", have.Annotations["note"])
	return have.Annotations[names.AnnotationTopology]
}

// TestTopologyOfTheNodeIsOnThePod checks that the labels of its node are written on a pod once, and
// that a node is read once for all pods on it.
func TestTopologyOfTheNodeIsOnThePod(t *testing.T) {
	job := aJob()
	pods := []*corev1.Pod{aWorker(job, 0, 0), aWorker(job, 1, 1), aWorker(job, 2, 2), aWorker(job, 3, 0), aWorker(job, 4, 9), aWorker(job, 5, -1)}
	w := newWorld(t, job, pods...)
	both := zone + "=z," + block + "=b"
	for range 2 {
		for i, want := range []string{both, zone + "=z", "", both, "", ""} {
			require.Equal(t, want, w.after(pods[i]), pods[i].Name)
		}
	}
	require.Equal(t, 3, w.patches, "nothing is written for a node without labels, or twice")
	require.Equal(t, 4, w.reads, "each node is read once: also the one that is gone")
	w.clock.SetTime(w.clock.Now().Add(nodeAge))
	require.Empty(t, w.after(pods[2]))
	require.Equal(t, 5, w.reads)
	_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "hpc", Name: "gone"}})
	require.NoError(t, err)
}

// TestLabelsOfANewJob checks that a job that names labels gets the labels of its nodes as of its creation. The nodes were
// read for another job shortly before.
func TestLabelsOfANewJob(t *testing.T) {
	old, job := aJob(), aJob()
	job.Name, job.UID, job.Spec.TopologyKeys = "new", "u-2", []v1alpha1.TopologyKey{"late"}
	before, pod, second := aWorker(old, 0, 2), aWorker(job, 1, 2), aWorker(job, 2, 2)
	w := newWorld(t, old, before, pod, second)
	job.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(5 * time.Second).Truncate(time.Second))
	require.NoError(t, w.Client.Create(t.Context(), job))
	require.Empty(t, w.after(before))
	require.Equal(t, 1, w.reads)

	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	node.Labels = map[string]string{"late": "x"}
	require.NoError(t, w.Client.Update(t.Context(), node))
	require.Equal(t, "late=x", w.after(pod))
	require.Equal(t, "late=x", w.after(second))
	require.Equal(t, 2, w.reads, "once for all pods of the job")
}

// TestOnlyPodsThatNeedIt checks which pods are left alone.
func TestOnlyPodsThatNeedIt(t *testing.T) {
	for name, tc := range map[string]struct {
		job  func(*v1alpha1.LaunchJobSpec)
		pod  func(*corev1.Pod)
		want string
	}{
		"other keys":          {job: func(s *v1alpha1.LaunchJobSpec) { s.TopologyKeys = []v1alpha1.TopologyKey{"other", zone} }, want: "other=x," + zone + "=z"},
		"none":                {job: func(s *v1alpha1.LaunchJobSpec) { s.TopologyKeys = []v1alpha1.TopologyKey{none} }},
		"elastic":             {job: func(s *v1alpha1.LaunchJobSpec) { s.Elastic = &v1alpha1.Elastic{Min: 1} }},
		"compat":              {job: func(s *v1alpha1.LaunchJobSpec) { s.Compat = "kubeflow-v1" }},
		"roles":               {job: func(s *v1alpha1.LaunchJobSpec) { s.Roles = append(s.Roles, v1alpha1.Role{Name: "ps"}) }},
		"no launcher":         {job: func(s *v1alpha1.LaunchJobSpec) { s.Launcher = nil }},
		"the launcher's pod":  {pod: func(p *corev1.Pod) { p.Labels[names.LabelRole] = names.RoleLauncher }},
		"has the labels":      {pod: func(p *corev1.Pod) { p.Labels[zone], p.Labels[block] = "z", "b" }},
		"has one of them":     {pod: func(p *corev1.Pod) { p.Labels[zone] = "z" }, want: zone + "=z," + block + "=b"},
		"a user's annotation": {pod: func(p *corev1.Pod) { p.Annotations[names.AnnotationTopology] = "rack=r" }, want: "rack=r"},
		"somebody else's pod": {pod: func(p *corev1.Pod) { p.OwnerReferences = nil }},
		"no such job":         {pod: func(p *corev1.Pod) { p.Labels[names.LabelJob] = "other" }},
		"a pod that ended":    {pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob()
			if tc.job != nil {
				tc.job(&job.Spec)
			}
			pod := aWorker(job, 0, 0)
			if tc.pod != nil {
				tc.pod(pod)
			}
			require.Equal(t, tc.want, newWorld(t, job, pod).after(pod))
		})
	}
}

// TestWithoutTheRight checks that a controller that may not read nodes, or may not patch pods, says
// so in one event and then leaves the API server alone for a while.
func TestWithoutTheRight(t *testing.T) {
	for _, refuse := range []string{"nodes", "pods"} {
		t.Run(refuse, func(t *testing.T) {
			job := aJob()
			one, other := aWorker(job, 0, 0), aWorker(job, 1, 1)
			w := newWorld(t, job, one, other)
			w.refuse = refuse
			require.Empty(t, w.after(one)+w.after(other)+w.after(one))
			require.Len(t, w.said.Events, 1)
			require.Contains(t, <-w.said.Events, "Warning TopologyUnknown ranks are ordered by the number of their pods, not by topology: ")
			require.Equal(t, 1, w.reads)
			w.clock.SetTime(w.clock.Now().Add(refusedAge))
			require.Empty(t, w.after(one))
			require.Equal(t, 2, w.reads, "it tries again later")
			require.Empty(t, w.said.Events, "in silence")
			w.refuse = ""
			w.clock.SetTime(w.clock.Now().Add(refusedAge))
			require.NotEmpty(t, w.after(one), "the right was given meanwhile")
		})
	}
}

// TestTheRightsAreInstalled checks that install.yaml gives the two rights.
func TestTheRightsAreInstalled(t *testing.T) {
	text, err := os.ReadFile("../../../images/install.yaml")
	require.NoError(t, err)
	lines := strings.Join(strings.Fields(string(text)), " ")
	require.Contains(t, lines, "resources: - nodes verbs: - get ")
	require.Contains(t, lines, "resources: - pods verbs: - patch ")
}

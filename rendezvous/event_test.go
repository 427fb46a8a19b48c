package rendezvous_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fakekube"
)

// stuck returns a pod that its node has been preparing for a minute.
func stuck() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w-3", Namespace: "hpc", UID: "u-w-3", CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute))}}
	p.Spec.NodeName, p.Spec.Containers = "n1", []corev1.Container{{Name: "worker"}}
	p.Status.Phase = corev1.PodPending
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	return p
}

func event(reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{InvolvedObject: corev1.ObjectReference{Name: "w-3", UID: "u-w-3"}, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(noon.Add(-ago))}
}

// TestBecause checks that the message names the missing object of a volume, with a hint.
func TestBecause(t *testing.T) {
	other := event("FailedMount", `secret "x" not found`, time.Second)
	other.InvolvedObject.UID = "u-other"
	vague := event("FailedMount", "Unable to attach or mount volumes: unmounted volumes=[cfg], unattached volumes=[]: timed out waiting for the condition", time.Second)
	for name, tc := range map[string]struct {
		events            []corev1.Event
		code, brief, hint string
	}{
		"ConfigMap":       {[]corev1.Event{event("FailedMount", `MountVolume.SetUp failed for volume "cfg" : configmap "nope" not found`, 9*time.Second), vague}, "FailedMount", `configmap "nope" not found`, "create configmap nope in namespace hpc"},
		"Secret":          {[]corev1.Event{event("FailedMount", `MountVolume.SetUp failed for volume "key" : secret "nope" not found`, 9*time.Second)}, "FailedMount", `secret "nope" not found`, "create secret nope in namespace hpc"},
		"PVC":             {[]corev1.Event{event("FailedMount", `error processing PVC hpc/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found`, 9*time.Second)}, "FailedMount", `"data" not found`, "create persistentvolumeclaim data in namespace hpc"},
		"CSI driver":      {[]corev1.Event{event("FailedMount", `MountVolume.SetUp failed for volume "s" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name ebs.csi.aws.com not found in the list of registered CSI drivers`, 9*time.Second)}, "FailedMount", "ebs.csi.aws.com", "install CSI driver ebs.csi.aws.com on node n1"},
		"attachment":      {[]corev1.Event{event("FailedAttachVolume", `Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) w-2`, 9*time.Second)}, "FailedAttachVolume", "Multi-Attach error", "kubectl describe pod w-3"},
		"device":          {[]corev1.Event{event("FailedMapVolume", `MapVolume.MapPodDevice failed for volume "blk" : no such device`, 9*time.Second)}, "FailedMapVolume", "no such device", "kubectl describe pod w-3"},
		"claim":           {[]corev1.Event{event("FailedPrepareDynamicResources", `Failed to prepare dynamic resources: resourceclaim "gpu" not found`, 9*time.Second)}, "FailedPrepareDynamicResources", "gpu", "create resourceclaim gpu"},
		"network":         {[]corev1.Event{event("FailedCreatePodSandBox", `Failed to create pod sandbox: plugin type="calico" failed: no addresses`, 9*time.Second)}, "FailedCreatePodSandBox", "no addresses", "the network"},
		"another pod":     {[]corev1.Event{other}, "ContainerCreating", "ContainerCreating", "describe"},
		"unrelated event": {[]corev1.Event{event("BackOff", "back-off", time.Second)}, "ContainerCreating", "ContainerCreating", "describe"},
	} {
		pod := stuck()
		r := rendezvous.Because(rendezvous.Explain(pod, "worker", noon), pod, tc.events)
		require.Equal(t, tc.code, string(r.Code), name)
		require.Contains(t, r.Brief, tc.brief, name)
		require.Contains(t, r.Sentence, "w-3", name)
		require.Contains(t, r.Hint, tc.hint, name)
		require.False(t, r.Permanent, name)
	}
	running := stuck()
	running.Status.Phase = corev1.PodRunning
	require.True(t, rendezvous.Stuck(stuck(), noon))
	require.False(t, rendezvous.Stuck(stuck(), noon.Add(-time.Minute)))
	require.False(t, rendezvous.Stuck(running, noon))
}

// TestBoardNamesTheVolume checks that the progress line and the report at the deadline name the
// volume, or the missing right to read events.
func TestBoardNamesTheVolume(t *testing.T) {
	for name, tc := range map[string]struct {
		shot rendezvous.Snapshot
		want string
	}{
		"events":    {rendezvous.Snapshot{Events: []corev1.Event{event("FailedMount", `configmap "nope" not found`, time.Second)}}, `configmap "nope" not found`},
		"forbidden": {rendezvous.Snapshot{Unread: true}, `{apiGroups: [""], resources: ["events"], verbs: ["list"]}`},
	} {
		b := rendezvous.New(1, 0)
		tc.shot.Pods, tc.shot.At = []*corev1.Pod{stuck()}, noon
		b.SetPods(tc.shot)
		b.Tick(noon)
		require.Contains(t, b.Report(noon), tc.want, name)
	}
}

// TestWatchReadsEventsOfStuckPods checks that events are read while a pod is stuck. If the right to
// read events is missing, the snapshot has that fact, and the watch continues.
func TestWatchReadsEventsOfStuckPods(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		fits   func(rendezvous.Snapshot) bool
	}{
		"events": {200, `{"kind":"EventList","apiVersion":"v1","items":[
			{"metadata":{"name":"a"},"involvedObject":{"name":"w-3","uid":"u-w-3"},"type":"Warning","reason":"FailedMount","message":"configmap \"nope\" not found"},
			{"metadata":{"name":"b"},"involvedObject":{"name":"other","uid":"u-o"},"type":"Warning","reason":"FailedMount","message":"secret"},
			{"metadata":{"name":"c"},"involvedObject":{"name":"w-3","uid":"u-w-3"},"type":"Normal","reason":"Pulling","message":"Pulling image"},
			{"metadata":{"name":"d"},"involvedObject":{"name":"w-3","uid":"u-w-3"},"type":"Normal","reason":"Killing"}]}`,
			func(s rendezvous.Snapshot) bool {
				return len(s.Events) == 2 && s.Events[1].Reason == "Pulling" && s.Events[0].Reason == "FailedMount" && !s.Unread
			}},
		"forbidden": {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"events is forbidden"}`,
			func(s rendezvous.Snapshot) bool { return s.Unread && s.Err == nil && len(s.Pods) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakekube.New(t)
			asked := make(chan string, 1000)
			s.Handle("GET /api/v1/namespaces/hpc/events", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.Query().Get("fieldSelector")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			pod := stuck()
			pod.Labels, pod.CreationTimestamp = map[string]string{"muster.dev/job": "pi"}, metav1.NewTime(time.Now().Add(-time.Minute))
			s.Set(pod)
			f := follow(t, s, func(w *rendezvous.Watch) { w.Events = 20 * time.Millisecond })
			f.until(name, tc.fits)
			require.Equal(t, "involvedObject.kind=Pod,reason!=Scheduled,reason!=Created,reason!=Started", <-asked)
		})
	}
}

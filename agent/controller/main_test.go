package controller

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

// aJob reads a job from testdata.
func aJob(t *testing.T, name string) *v1alpha1.LaunchJob {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".yaml")
	require.NoError(t, err)
	job := &v1alpha1.LaunchJob{}
	require.NoError(t, yaml.UnmarshalStrict(text, job))
	job.Namespace, job.UID = "hpc", "u-1"
	return job
}

func now() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

func aBuilder(job *v1alpha1.LaunchJob) builder {
	return (&Reconciler{AgentImage: "registry.example.com/muster-agent:1"}).builder(context.Background(), job)
}

// aPod returns the pod of a slot, with the status that its kubelet would report.
func aPod(job *v1alpha1.LaunchJob, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	b := aBuilder(job)
	for _, s := range b.slots {
		if s.name != name {
			continue
		}
		pod := b.pod(s, name)
		pod.UID = "uid-" + pod.UID
		pod.CreationTimestamp = metav1.NewTime(now().Add(-time.Hour))
		pod.Spec.NodeName = "node1"
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: s.container, Ready: true, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now().Add(-30 * time.Minute))},
		}}}
		for _, f := range change {
			f(pod)
		}
		return pod
	}
	panic("no slot " + name)
}

func ended(code int32, ago time.Duration, words string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		s := &p.Status.ContainerStatuses[0]
		s.Ready, s.State = false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Message: words, FinishedAt: metav1.NewTime(now().Add(-ago)),
		}}
	}
}

// restartsItself lets the kubelet restart all containers of the pod when its own one fails.
func restartsItself(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	own := &p.Spec.Containers[slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == p.Status.ContainerStatuses[0].Name })]
	own.RestartPolicy = new(corev1.ContainerRestartPolicyNever)
	own.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0}}}}
}

// besideASidecar keeps an ordinary sidecar container of the pod running.
func besideASidecar(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
}

func disruptedBy(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason})
	}
}

// evictedByNode is a pod that its node has evicted, and that stays.
func evictedByNode(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		disruptedBy("TerminationByKubelet")(p)
		p.Status.Conditions[len(p.Status.Conditions)-1].LastTransitionTime = metav1.NewTime(now().Add(-ago))
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
	}
}

func deleted(ago, grace time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		at, seconds := metav1.NewTime(now().Add(-ago+grace)), int64(grace.Seconds())
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &seconds
	}
}

func silentNode(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse},
		corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
}

// metaItems returns the objects of a list.
func metaItems(list client.ObjectList) (items []client.Object, err error) {
	err = meta.EachListItem(list, func(o runtime.Object) error {
		items = append(items, o.(client.Object))
		return nil
	})
	return items, err
}

// installed returns the rules of the ClusterRole that images/install.yaml gives the controller.
func installed(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../../images/install.yaml")
	require.NoError(t, err)
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(doc, "kind: ClusterRole\n") {
			continue // the CRD takes long to parse
		}
		var role rbacv1.ClusterRole
		if yaml.Unmarshal([]byte(doc), &role) == nil && role.Kind == "ClusterRole" && role.Name == "muster-controller" {
			require.NotEmpty(t, role.Rules)
			return role.Rules
		}
	}
	require.Fail(t, "images/install.yaml has no ClusterRole muster-controller")
	return nil
}

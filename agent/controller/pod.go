package controller

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/exclude"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/agent/controller/progress"
	"github.com/musterhq/muster/agent/controller/trace"
	"github.com/musterhq/muster/exec/names"
)

// builder creates the objects of one job. It reads nothing but the job and the controller's
// options.
type builder struct {
	job     *v1alpha1.LaunchJob
	slots   []slot
	image   string                  // image of the agent
	volumes bool                    // all nodes can mount an image as a volume
	attempt int32                   // attempt of the pods, from 1
	avoid   []v1alpha1.ExcludedNode // nodes where no new pod may go
	places  map[string]kueue.Place  // what Kueue's admission adds to the pods of each role
	offer   *progress.Offer         // what pods need to report progress; nil: nothing
	trace   *trace.Tracer           // nil: no traces
}

// pod returns the pod of a slot under a name. It keeps everything in the user's template and adds
// the rest.
func (b builder) pod(s slot, name string) *corev1.Pod {
	t := s.template.DeepCopy()
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: children.Meta(b.job, name),
		Spec:       t.Spec,
	}
	pod.Labels = merged(t.Labels, b.podLabels(s))
	pod.Annotations = merged(t.Annotations, map[string]string{names.AnnotationDefaultContainer: s.container})
	b.place(s, &pod.Spec)
	exclude.Avoid(&pod.Spec, b.avoid)
	b.deliver(s, &pod.Spec)
	b.wrap(s, &pod.Spec)
	b.shm(s, &pod.Spec)
	children.MountKey(b.job, s.launcher(), &pod.Spec, s.own(&pod.Spec))
	b.gang().Join(pod, s.role)
	if p, found := b.places[s.role]; found {
		p.Put(pod)
	}
	if b.job.Spec.ReportProgress || s.launcher() && slices.ContainsFunc(b.job.Spec.Progress, func(r v1alpha1.ProgressRule) bool { return r.Expect != "" }) {
		b.offer.Give(pod, s.own(&pod.Spec), b.job.Name)
	}
	return pod
}

func merged(theirs, ours map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, theirs)
	maps.Copy(all, ours)
	return all
}

// podLabels returns the labels by which launcher, users and schedulers find the pod. For the
// launcher all roles are workers; --roles tells it which role each has.
func (b builder) podLabels(s slot) map[string]string {
	labels := map[string]string{
		names.LabelJob: b.job.Name, names.LabelPod: s.name,
		names.LabelAttempt: strconv.Itoa(int(b.attempt)), names.LabelRole: names.RoleLauncher,
	}
	if !s.launcher() {
		labels[names.LabelRole], labels[names.LabelIndex] = names.RoleWorker, strconv.Itoa(s.rank)
	}
	if !s.launcher() && roleList(b.job) != "" {
		labels[names.LabelReplicaType] = s.role
	}
	if b.job.Spec.Compat != "" {
		labels[names.LabelReplicaIndex] = strconv.Itoa(s.index)
	}
	return labels
}

// lostAfter is how many seconds the pods of an unreachable node stay bound to it, in a job that can
// replace them. Kubernetes' default is five minutes.
const lostAfter = 10

// place sets the pod's host name, account, and toleration of unreachable nodes.
func (b builder) place(s slot, spec *corev1.PodSpec) {
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Hostname, spec.Subdomain = cmp.Or(spec.Hostname, s.name), cmp.Or(spec.Subdomain, b.job.Name)
	if spec.HostNetwork && spec.DNSPolicy == "" {
		spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	given := children.AccountOf(spec)
	switch {
	case s.launcher() && given == "":
		spec.ServiceAccountName = children.Account(b.job)
	case given == "" && spec.AutomountServiceAccountToken == nil:
		spec.AutomountServiceAccountToken = new(false)
	}
	if maxRestarts(b.job) == 0 {
		return
	}
	for _, taint := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		if slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == taint || t.Key == "" && t.Operator == corev1.TolerationOpExists
		}) {
			continue
		}
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(lostAfter)),
		})
	}
}

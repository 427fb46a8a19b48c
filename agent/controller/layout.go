package controller

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/history"
	"github.com/musterhq/muster/exec/names"
)

// slot is the place of one pod of a job. Its pod has the slot's name, or that name with -r1 while a
// dead node still holds the old pod.
type slot struct {
	name      string // plain name, which is also the pod's host name
	role      string // launcher, or the role's name
	index     int    // within the role
	rank      int    // among all workers; -1 for the launcher
	over      bool   // its work is done, and no pod is created again
	spare     bool   // at the start: which pods are spares changes with failures, and only the launcher knows it
	container string // the role's own container
	template  *corev1.PodTemplateSpec
}

func (s slot) launcher() bool { return s.rank < 0 }

// layout lists the slots of a job: the launcher first, then the roles in their order, so that ranks
// match --roles.
func layout(job *v1alpha1.LaunchJob) []slot {
	var slots []slot
	if l := job.Spec.Launcher; l != nil {
		name := job.Name + "-" + names.RoleLauncher
		slots = append(slots, slot{name: name, role: names.RoleLauncher, rank: -1, container: ownContainer(l.Container, &l.Template), template: &l.Template})
	}
	rank := 0
	add := func(r *v1alpha1.Role, index int, spare bool) {
		name := fmt.Sprintf("%s-%s-%d", job.Name, r.Name, index)
		slots = append(slots, slot{name: name, role: r.Name, index: index, rank: rank, spare: spare, container: ownContainer(r.Container, &r.Template), template: &r.Template})
		rank++
	}
	for i := range job.Spec.Roles {
		r := &job.Spec.Roles[i]
		for index := range replicas(job, r) {
			add(r, index, false)
		}
		if r.Name == names.RoleWorker { // the only role of a job with spares
			for n := range int(job.Spec.Spares) {
				add(r, replicas(job, r)+n, true)
			}
		}
	}
	if done := job.Status.Completed; done != "" && job.Spec.Launcher == nil {
		for rank, over := range history.Ranks(done, len(slots)) {
			slots[rank].over = over
		}
	}
	return slots
}

// replicas returns the number of pods of a role.
func replicas(job *v1alpha1.LaunchJob, r *v1alpha1.Role) int {
	n := r.Replicas
	if r.Name == names.RoleWorker {
		n = cmp.Or(job.Spec.Workers, n)
	}
	return int(ptr.Deref(n, 1))
}

// ownContainer returns the container that decides for the pod: the user's choice, else kubectl's,
// else the first.
func ownContainer(given string, t *corev1.PodTemplateSpec) string {
	if given = cmp.Or(given, t.Annotations[names.AnnotationDefaultContainer]); given != "" || len(t.Spec.Containers) == 0 {
		return given
	}
	return t.Spec.Containers[0].Name
}

// own returns the slot's container in a pod's spec.
func (s slot) own(spec *corev1.PodSpec) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == s.container {
			return &spec.Containers[i]
		}
	}
	return nil
}

// roleList returns the value of --roles, or "" if all are workers.
func roleList(job *v1alpha1.LaunchJob) string {
	if len(job.Spec.Roles) == 1 && job.Spec.Roles[0].Name == names.RoleWorker {
		return ""
	}
	var parts []string
	for i := range job.Spec.Roles {
		r := &job.Spec.Roles[i]
		parts = append(parts, fmt.Sprintf("%s=%d", r.Name, replicas(job, r)))
	}
	return strings.Join(parts, ",")
}

// gang returns the gang of the pods.
func (b builder) gang() gang.Group { return gang.Group{Job: b.job, Pods: len(b.slots)} }

// delivery returns how the agent gets into the pods, in the user's words.
func delivery(job *v1alpha1.LaunchJob) string {
	return cmp.Or(ptr.Deref(job.Spec.Agent, v1alpha1.Agent{}).Delivery, names.DefaultDelivery)
}

// runPolicy and maxRestarts return the user's values, or their defaults.
func runPolicy(job *v1alpha1.LaunchJob) v1alpha1.RunPolicy {
	return ptr.Deref(job.Spec.RunPolicy, v1alpha1.RunPolicy{})
}

func maxRestarts(job *v1alpha1.LaunchJob) int32 {
	return ptr.Deref(job.Spec.RestartPolicy, v1alpha1.RestartPolicy{}).MaxRestarts
}

// Ways of delivery, besides init.
const (
	auto        = "auto"
	baked       = "baked"
	imageVolume = "imageVolume"
)

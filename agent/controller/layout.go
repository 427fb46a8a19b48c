package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/names"
)

// slot is the place of one pod of a job. Its pod has the slot's name, or that and
// -r1 while a dead node still holds the old one.
type slot struct {
	name      string // plain, and the pod's host name
	role      string // launcher, or the role's name
	index     int    // within the role
	rank      int    // among all workers, -1 for the launcher
	container string // the role's own
	template  *corev1.PodTemplateSpec
}

func (s slot) launcher() bool { return s.rank < 0 }

// layout lists the slots of a job, the launcher first, then the roles in their
// order, so that ranks are those of --roles.
func layout(job *v1alpha1.LaunchJob) []slot {
	var slots []slot
	if l := job.Spec.Launcher; l != nil {
		slots = append(slots, slot{
			name: job.Name + "-" + names.RoleLauncher, role: names.RoleLauncher, rank: -1,
			container: ownContainer(l.Container, &l.Template), template: &l.Template,
		})
	}
	rank := 0
	for i := range job.Spec.Roles {
		r := &job.Spec.Roles[i]
		for index := range replicas(job, r) {
			slots = append(slots, slot{
				name: fmt.Sprintf("%s-%s-%d", job.Name, r.Name, index), role: r.Name, index: index, rank: rank,
				container: ownContainer(r.Container, &r.Template), template: &r.Template,
			})
			rank++
		}
	}
	return slots
}

// replicas is how many pods a role has.
func replicas(job *v1alpha1.LaunchJob, r *v1alpha1.Role) int {
	switch {
	case r.Name == names.RoleWorker && job.Spec.Workers != nil:
		return int(*job.Spec.Workers)
	case r.Replicas != nil:
		return int(*r.Replicas)
	}
	return 1
}

// workers counts the slots beside the launcher.
func workers(slots []slot) int {
	n := 0
	for _, s := range slots {
		if !s.launcher() {
			n++
		}
	}
	return n
}

// ownContainer is the one that decides about the pod: as the user says, else
// kubectl's, else the first.
func ownContainer(given string, t *corev1.PodTemplateSpec) string {
	if given = cmp.Or(given, t.Annotations[names.AnnotationDefaultContainer]); given != "" || len(t.Spec.Containers) == 0 {
		return given
	}
	return t.Spec.Containers[0].Name
}

// own finds the slot's container in a pod's spec.
func (s slot) own(spec *corev1.PodSpec) *corev1.Container {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == s.container })
	if i < 0 {
		return nil
	}
	return &spec.Containers[i]
}

// roleList is the value of --roles, "" where all are workers.
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

// elastic tells whether the workers may come and go.
func elastic(job *v1alpha1.LaunchJob) bool { return job.Spec.Elastic != nil }

// delivery is how the agent gets into the pods.
func delivery(job *v1alpha1.LaunchJob) string {
	if a := job.Spec.Agent; a != nil && a.Delivery != "" {
		return a.Delivery
	}
	return baked
}

// The ways of delivery.
const (
	baked       = "baked"
	byInit      = "init"
	imageVolume = "imageVolume"
)

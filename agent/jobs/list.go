package jobs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// Table returns the columns of kubectl get. wide adds columns, and namespaces adds the namespace as
// the first one.
func Table(list []v1alpha1.LaunchJob, wide, namespaces bool, now time.Time) Columns {
	t := Columns{Head: []string{"NAME", "READY", "PHASE", "PROGRESS", "REASON", "ATTEMPT", "AGE"}}
	if wide {
		t.Head = append(t.Head, "FRAMEWORK", "WORKERS", "IMAGE", "GOODPUT", "MESSAGE")
	}
	if namespaces {
		t.Head = append([]string{"NAMESPACE"}, t.Head...)
	}
	for i := range list {
		job := &list[i]
		s := job.Status
		row := []string{job.Name, s.Ready, s.Phase, s.Progress, s.Reason, attempt(s.Attempt), age(job.CreationTimestamp, now)}
		if wide {
			row = append(row, cmp.Or(job.Spec.Framework, "auto"), strconv.Itoa(size(job)), image(job), s.Goodput, oneLine(s.Message))
		}
		if namespaces {
			row = append([]string{job.Namespace}, row...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func attempt(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// size returns the number of pods of a job besides its launcher.
func size(job *v1alpha1.LaunchJob) int {
	n := 0
	for _, r := range job.Spec.Roles {
		n += replicas(job, r)
	}
	return n
}

// replicas returns the number of pods of a role.
func replicas(job *v1alpha1.LaunchJob, r v1alpha1.Role) int {
	switch {
	case r.Name == names.RoleWorker && job.Spec.Workers != nil:
		return int(*job.Spec.Workers)
	case r.Replicas != nil:
		return int(*r.Replicas)
	}
	return 1
}

// image returns the image of the first role's own container.
func image(job *v1alpha1.LaunchJob) string {
	for _, r := range job.Spec.Roles {
		containers := r.Template.Spec.Containers
		at := max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == r.Container }))
		if at < len(containers) {
			return containers[at].Image
		}
	}
	return ""
}

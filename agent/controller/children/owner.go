package children

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// Meta returns the metadata of every child.
func Meta(job *v1alpha1.LaunchJob, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: job.Namespace,
		Labels: map[string]string{names.LabelJob: job.Name},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(job, v1alpha1.Version().WithKind(v1alpha1.Kind)),
		},
	}
}

// Taken means that an object with the name of a child belongs to another owner.
type Taken struct {
	Kind, Name string
	former     bool // the owner is a deleted job of the same name
}

func (t *Taken) Error() string {
	if t.former {
		return fmt.Sprintf("%s %s belongs to a deleted job of this name: waiting until it is deleted too", t.Kind, t.Name)
	}
	return fmt.Sprintf("%s %s exists and does not belong to this job: rename one of them", t.Kind, t.Name)
}

// Ours returns Taken if an object with the name of a child belongs to another owner.
func Ours(job *v1alpha1.LaunchJob, want, have client.Object) error {
	if metav1.IsControlledBy(have, job) {
		return nil
	}
	owner := metav1.GetControllerOf(have)
	former := owner != nil && owner.Kind == v1alpha1.Kind && owner.Name == job.Name
	return &Taken{want.GetObjectKind().GroupVersionKind().Kind, want.GetName(), former}
}

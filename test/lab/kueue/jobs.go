//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/lab/plane"
)

// priorityLabel is the label of a LaunchJob that names its WorkloadPriorityClass.
const priorityLabel = kueueGroup + "/priority-class"

// job returns a LaunchJob of a launcher and workers with a GPU each, in the row's queue. It runs until it is deleted.
func (w *world) newJob(name string, workers int, change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
	template := func(resources corev1.ResourceList) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "localhost/none:dev", Command: []string{"train"},
			Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
		}}}}
	}
	job := &v1alpha1.LaunchJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns},
		Spec: v1alpha1.LaunchJobSpec{
			Framework: "plain", Workers: new(int32(workers)), Agent: &v1alpha1.Agent{Delivery: "baked"},
			Gang:     &v1alpha1.Gang{Backend: "kueue", Queue: w.ns},
			Launcher: &v1alpha1.Launcher{Template: template(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")})},
			Roles:    []v1alpha1.Role{{Name: "worker", Template: template(corev1.ResourceList{gpu: resource.MustParse("1")})}},
		},
	}
	for _, f := range change {
		f(job)
	}
	return job
}

// create creates jobs.
func (w *world) create(ctx context.Context, jobs ...*v1alpha1.LaunchJob) error {
	for _, job := range jobs {
		if err := w.client.Create(ctx, job); err != nil {
			return fmt.Errorf("create %s: %w", job.Name, err)
		}
	}
	return nil
}

// remove deletes jobs, and waits until nothing of them is left.
func (w *world) remove(ctx context.Context, jobs ...string) error {
	for _, name := range jobs {
		job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
		if err := w.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
	}
	return w.until(ctx, "deleted jobs to be gone", time.Minute, func() (bool, error) {
		for _, name := range jobs {
			if _, err := w.job(ctx, w.site, name); !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return true, nil
	})
}

// end makes the launcher of a job succeed.
func (w *world) end(ctx context.Context, job string) error {
	return w.ends(ctx, job+"-"+names.RoleLauncher)
}

// ends makes pods succeed.
func (w *world) ends(ctx context.Context, pods ...string) error {
	for _, name := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+plane.EndsAfter+`":"0s"}}}`))
		if err := w.client.Patch(ctx, pod, patch); err != nil {
			return fmt.Errorf("end %s: %w", name, err)
		}
	}
	return nil
}

// label sets a label of a job.
func label(key, value string) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) {
		if j.Labels == nil {
			j.Labels = map[string]string{}
		}
		j.Labels[key] = value
	}
}

package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Scale sets the number of workers, like kubectl scale.
func (a *API) Scale(ctx context.Context, name string, workers int) error {
	body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, workers)
	r, err := a.ofJob(a.client.Patch(types.MergePatchType), a.Namespace, name, "scale")
	if err != nil {
		return err
	}
	return a.explain(ctx, "scale job "+name, do[struct{}](ctx, r.Body(body), nil))
}

// Delete deletes the job through the API server; its pods are deleted with it. With a uid, it
// deletes no other job of that name.
func (a *API) Delete(ctx context.Context, namespace, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, PropagationPolicy: &background}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("encode options: %w", err)
	}
	r, err := a.ofJob(a.client.Delete(), namespace, name)
	if err != nil {
		return err
	}
	r = r.SetHeader("Content-Type", "application/json").Body(body)
	return a.explain(ctx, "delete job "+name, do[struct{}](ctx, r, nil))
}

// Gone waits until the job with that uid and all of its pods are gone. It does not wait for another job
// that got the name since.
func (a *API) Gone(ctx context.Context, name string, uid types.UID, say func(format string, args ...any)) error {
	p := patience{say: say}
	told := 0
	for {
		job, err := a.job(ctx, name)
		there := err == nil && job.UID == uid
		if apierrors.IsNotFound(err) {
			err = nil
		}
		left := 0
		if err == nil && !there {
			left, err = a.podsOf(ctx, name, uid)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !p.again(err):
			return a.explain(ctx, "wait for the end of job "+name, err)
		case err == nil && !there && left == 0:
			return nil
		case err == nil && left > 0 && left != told:
			told = left
			say("%s: pods still terminating: %d", name, left)
		}
		if !sleep(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
}

// podsOf counts the pods of the job with that uid.
func (a *API) podsOf(ctx context.Context, name string, uid types.UID) (n int, err error) {
	pods, err := a.pods(ctx, a.Namespace, name)
	for i := range pods {
		if owner := metav1.GetControllerOf(&pods[i]); owner != nil && owner.UID == uid {
			n++
		}
	}
	return n, err
}

// Prunable lists the jobs that ended before the given time, in one namespace or in all ("").
func (a *API) Prunable(ctx context.Context, namespace, selector string, before time.Time) ([]v1alpha1.LaunchJob, error) {
	all, err := a.Jobs(ctx, namespace, selector)
	var old []v1alpha1.LaunchJob
	for _, job := range all {
		if end := job.Status.CompletionTime; Over(&job) && end != nil && end.Time.Before(before) && job.DeletionTimestamp == nil {
			old = append(old, job)
		}
	}
	return old, err
}

// Prune deletes a job from Prunable. A job that is gone already is no error.
func (a *API) Prune(ctx context.Context, job *v1alpha1.LaunchJob) error {
	err := a.Delete(ctx, job.Namespace, job.Name, job.UID)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

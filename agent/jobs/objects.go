package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// plural is the name of LaunchJobs in a URL path.
const plural = "launchjobs"

// jobsPath returns the URL path of LaunchJobs; namespace "" means all.
func jobsPath(namespace string) string {
	path := "/apis/" + v1alpha1.Version().String()
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + plural
}

// CheckNames rejects names that would point a request at something else than a job: a DELETE without
// a name deletes all jobs of the namespace.
func CheckNames(jobs ...string) error { return checkNames("agent list", jobs...) }

// checkNames is CheckNames with the command line that lists the jobs.
func checkNames(list string, jobs ...string) error {
	for _, name := range jobs {
		if name == "" {
			return failure.Usage(list+" shows the jobs", "the job name is empty")
		}
		if wrong := rest.IsValidPathSegmentName(name); len(wrong) > 0 {
			return failure.Usage(list+" shows the jobs: give a name alone, without its kind", "%q is not a job name: it %s", name, wrong[0])
		}
	}
	return nil
}

// ofJob points a request at a job, or at its subresource sub.
func (a *API) ofJob(r *rest.Request, namespace, name string, sub ...string) (*rest.Request, error) {
	if err := checkNames(a.Line("list"), name); err != nil {
		return nil, err
	}
	return r.AbsPath(append([]string{jobsPath(namespace), name}, sub...)...), nil
}

// do sends one request and decodes the response into into, unless that is nil.
func do[T any](ctx context.Context, r *rest.Request, into *T) error {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	answer := r.SetHeader("Accept", "application/json").Do(ctx)
	if err := answer.Error(); err != nil || into == nil { // the error of Raw would lack the server's message
		return err
	}
	body, err := answer.Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read the API server's answer: %w", err)
	}
	return nil
}

// Jobs lists the jobs of a namespace ("": of all) that match the label selector.
func (a *API) Jobs(ctx context.Context, namespace, selector string) ([]v1alpha1.LaunchJob, error) {
	r := a.client.Get().AbsPath(jobsPath(namespace))
	if selector != "" {
		r = r.Param("labelSelector", selector)
	}
	var list v1alpha1.LaunchJobList
	err := do(ctx, r, &list)
	for i := range list.Items {
		list.Items[i].APIVersion, list.Items[i].Kind = v1alpha1.Version().String(), v1alpha1.Kind
	}
	return list.Items, a.explain(ctx, "list jobs", err)
}

// Job reads one job of the API's namespace.
func (a *API) Job(ctx context.Context, name string) (*v1alpha1.LaunchJob, error) {
	job, err := a.job(ctx, name)
	return job, a.explain(ctx, "get job "+name, err)
}

func (a *API) job(ctx context.Context, name string) (*v1alpha1.LaunchJob, error) {
	r, err := a.ofJob(a.client.Get(), a.Namespace, name)
	if err != nil {
		return nil, err
	}
	var job v1alpha1.LaunchJob
	if err := do(ctx, r, &job); err != nil {
		return nil, err
	}
	return &job, nil
}

// Create creates the job. With dry the API server only returns what it would create.
func (a *API) Create(ctx context.Context, job *v1alpha1.LaunchJob, dry bool) (*v1alpha1.LaunchJob, error) {
	body, err := marshal(job)
	if err != nil {
		return nil, err
	}
	r := a.client.Post().AbsPath(jobsPath(a.Namespace)).SetHeader("Content-Type", "application/json").Body(body)
	if dry {
		r = r.Param("dryRun", "All")
	}
	var made v1alpha1.LaunchJob
	if err := do(ctx, r, &made); err != nil {
		return nil, a.explain(ctx, "create job "+job.Name, err)
	}
	return &made, nil
}

// pods lists the pods of a job ("": of all jobs) in a namespace ("": in all).
func (a *API) pods(ctx context.Context, namespace, job string) ([]corev1.Pod, error) {
	return a.podsWith(ctx, namespace, job, "")
}

// podsWith lists the pods of a job that have the role; "" is every role.
func (a *API) podsWith(ctx context.Context, namespace, job, role string) ([]corev1.Pod, error) {
	r := a.client.Get()
	if namespace != "" {
		r = r.Namespace(namespace)
	}
	selector := names.LabelJob
	if job != "" {
		selector += "=" + job
	}
	if role != "" {
		selector += "," + names.LabelRole + "=" + role
	}
	var list corev1.PodList
	err := do(ctx, r.Resource("pods").Param("labelSelector", selector), &list)
	return list.Items, err
}

// pod reads one pod.
func (a *API) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	if err := do(ctx, a.client.Get().Namespace(a.Namespace).Resource("pods").Name(name), &pod); err != nil {
		return nil, err
	}
	return &pod, nil
}

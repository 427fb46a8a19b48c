package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/names"
)

// job checks what a job needs of its cluster.
func (d *doctor) job(ctx context.Context, job *v1alpha1.LaunchJob) []check.Finding {
	quota, security := refusals(job)
	pods, err := d.api.Pods(ctx, job.Name)
	found := check.OfGang(d.gang(ctx, job))
	if err != nil {
		found = append(found, check.NotChecked(plain(err), "exec", "image", "quota")...)
		return append(found, d.podSecurity(templates(job), false, security)...)
	}
	if !jobs.Over(job) {
		found = append(found, d.exec(ctx, job, pods)...)
	}
	found = append(found, check.OfImages(images(job, pods))...)
	found = append(found, d.quotas(ctx, need(job, pods), quota)...)
	return append(found, d.podSecurity(templates(job), len(pods) > 0, security)...)
}

// refusals returns the API server's message if it has refused a pod of the job: because of a quota,
// or of Pod Security. The controller puts it into the status.
func refusals(job *v1alpha1.LaunchJob) (quota, security string) {
	text := strings.Join(strings.Fields(job.Status.Message), " ")
	switch {
	case strings.Contains(text, "exceeded quota"), strings.Contains(text, "failed quota"):
		return text, ""
	case strings.Contains(text, "violates PodSecurity"):
		return "", text
	}
	return "", ""
}

// templates returns the pod templates of a job.
func templates(job *v1alpha1.LaunchJob) (all []check.Template) {
	if l := job.Spec.Launcher; l != nil {
		all = append(all, check.Template{Role: names.RoleLauncher, Spec: l.Template.Spec})
	}
	for _, r := range job.Spec.Roles {
		all = append(all, check.Template{Role: r.Name, Spec: r.Template.Spec})
	}
	return all
}

// need returns what the pods need that the job does not have yet. A job that has ended or is
// suspended needs nothing.
func need(job *v1alpha1.LaunchJob, pods []corev1.Pod) corev1.ResourceList {
	none := corev1.ResourceList{}
	if jobs.Over(job) || job.Spec.RunPolicy != nil && job.Spec.RunPolicy.Suspend {
		return none
	}
	have := map[string]int{}
	for _, p := range pods {
		role := p.Labels[names.LabelRole]
		if special := p.Labels[names.LabelReplicaType]; special != "" {
			role = special
		}
		have[role]++
	}
	var lists []corev1.ResourceList
	if l := job.Spec.Launcher; l != nil {
		lists = append(lists, check.Needs(1-have[names.RoleLauncher], &l.Template.Spec))
	}
	for _, r := range job.Spec.Roles {
		lists = append(lists, check.Needs(jobs.Size(job, r)-have[r.Name], &r.Template.Spec))
	}
	return check.Sum(lists...)
}

// quotas checks the quotas of the namespace. need is nil without a job.
func (d *doctor) quotas(ctx context.Context, need corev1.ResourceList, refused string) []check.Finding {
	var list corev1.ResourceQuotaList
	if err := d.api.Read(ctx, "/api/v1/namespaces/"+d.api.Namespace+"/resourcequotas", nil, &list); err != nil && refused == "" {
		return check.NotChecked(plain(err), "quota")
	}
	var all []check.Quota
	for _, q := range list.Items {
		all = append(all, check.Quota{Name: q.Name, Hard: q.Status.Hard, Used: q.Status.Used, Scoped: len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil})
	}
	return check.OfQuotas(all, need, refused)
}

// podSecurity checks the Pod Security level of the namespace.
func (d *doctor) podSecurity(templates []check.Template, admitted bool, refused string) []check.Finding {
	if d.hidden != nil && refused == "" {
		return check.NotChecked(plain(d.hidden), "pod-security")
	}
	return check.OfPodSecurity(d.labels["pod-security.kubernetes.io/enforce"], templates, admitted, refused)
}

// gangKinds are the kinds that the controller needs for each backend of a gang.
var gangKinds = map[string]struct{ group, kind string }{
	"volcano":      {"scheduling.volcano.sh", "PodGroup"},
	"coscheduling": {"scheduling.x-k8s.io", "PodGroup"},
	"workload":     {"scheduling.k8s.io", "PodGroup"},
	"kueue":        {"kueue.x-k8s.io", "Workload"},
}

// backendOf returns the backend of a job's gang, or "". Kueue's label alone puts a job into a queue, unless the job has
// begun without it.
func backendOf(job *v1alpha1.LaunchJob) string {
	switch g := job.Spec.Gang; {
	case g != nil && g.Backend != "auto":
		return g.Backend
	case meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Admitted):
		return "kueue"
	case job.Status.Gang != "" || job.Status.StartTime != nil:
		return job.Status.Gang
	case job.Labels[names.LabelKueueQueue] != "" || g != nil && g.Queue != "":
		return "kueue"
	}
	return "" // the controller has not chosen yet
}

// gang reads whether the API server serves the kind of the job's gang.
func (d *doctor) gang(ctx context.Context, job *v1alpha1.LaunchJob) check.Gang {
	backend := backendOf(job)
	if backend == "" || backend == "none" {
		return check.Gang{}
	}
	k, known := gangKinds[backend]
	g := check.Gang{Backend: backend, Kind: k.kind + "." + k.group}
	if !known {
		g.Error = "this agent does not know the backend " + backend
		return g
	}
	served, err := d.served(ctx, k.group)
	if err != nil {
		g.Error = plain(err)
	}
	for _, kinds := range served {
		g.Served = g.Served || kinds[k.kind]
	}
	return g
}

// execWithin is how long a command in a pod may take.
const execWithin = 15 * time.Second

// exec runs `agent ready` in the first worker that runs.
func (d *doctor) exec(ctx context.Context, job *v1alpha1.LaunchJob, pods []corev1.Pod) []check.Finding {
	for i := range pods {
		p := &pods[i]
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil || p.Labels[names.LabelRole] == names.RoleLauncher {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, execWithin)
		defer cancel()
		answer, err := d.api.Ready(ctx, p)
		switch {
		case apierrors.IsForbidden(err):
			return check.NotChecked(plain(err), "exec")
		case errors.Is(err, context.DeadlineExceeded):
			return check.OfExec(check.Exec{Pod: p.Name, Error: "exec in " + p.Name + ": no answer within " + execWithin.String()})
		case err != nil:
			return check.OfExec(check.Exec{Pod: p.Name, Error: plain(err)})
		}
		return check.OfExec(check.Exec{Pod: p.Name, Protocol: answer.Protocol, Took: answer.Took, Code: answer.Code, Said: answer.Said})
	}
	return check.NotChecked("no worker of "+job.Name+" runs", "exec")
}

// images returns the images of a job's pods, or of its templates as long as it has none.
func images(job *v1alpha1.LaunchJob, pods []corev1.Pod) []check.Image {
	var all []check.Image
	at := map[string]int{}
	place := func(image string) *check.Image {
		i, known := at[image]
		if !known {
			i = len(all)
			at[image], all = i, append(all, check.Image{Image: image})
		}
		return &all[i]
	}
	for _, t := range templates(job) {
		for _, c := range slices.Concat(t.Spec.InitContainers, t.Spec.Containers) {
			place(c.Image)
		}
	}
	for i := range pods {
		p := &pods[i]
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			one := place(c.Image)
			s := status(p, c.Name)
			switch {
			case s == nil:
			case s.State.Waiting != nil && (s.State.Waiting.Reason == "ContainerCreating" || s.State.Waiting.Reason == "PodInitializing"):
			case s.State.Waiting != nil && s.ImageID == "":
				one.Pod, one.Reason, one.Message = p.Name, s.State.Waiting.Reason, strings.Join(strings.Fields(s.State.Waiting.Message), " ")
			case s.State.Running != nil, s.State.Terminated != nil, s.ImageID != "":
				one.Pulled = true
			}
		}
	}
	return all
}

// status returns the status of a container by its name, or nil.
func status(p *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

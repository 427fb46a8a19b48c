package jobs

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// podMetrics is a pod in metrics.k8s.io/v1beta1.
type podMetrics struct {
	Metadata   struct{ Name, Namespace string } `json:"metadata"`
	Containers []struct {
		Usage corev1.ResourceList `json:"usage"`
	} `json:"containers"`
}

// TopJobs returns what jobs request and use: the GPUs that their pods hold on nodes, and CPU and memory as
// measured by the cluster. name "" means all jobs of the namespace; namespace "" means all. note
// says why there is no usage.
func (a *API) TopJobs(ctx context.Context, namespace, name string) (t Columns, note string, err error) {
	list, err := a.topped(ctx, namespace, name)
	if err != nil {
		return t, "", err
	}
	pods, err := a.pods(ctx, namespace, name)
	if err != nil {
		return t, "", a.explain(ctx, "list pods", err)
	}
	usage, note := a.used(ctx, namespace)
	of := map[string][]*corev1.Pod{} // by the namespace and name of their job
	for i := range pods {
		key := pods[i].Namespace + "/" + pods[i].Labels[names.LabelJob]
		of[key] = append(of[key], &pods[i])
	}
	t.Head = []string{"NAMESPACE", "NAME", "PHASE", "RUNNING", "GPUS", "CPU", "MEMORY"}
	for i := range list {
		job := &list[i]
		sum := sumOf(of[job.Namespace+"/"+job.Name], usage)
		t.Rows = append(t.Rows, []string{job.Namespace, job.Name, job.Status.Phase, fmt.Sprintf("%d/%d", sum.running, sum.all), strconv.FormatInt(sum.gpus, 10),
			sum.amount(fmt.Sprintf("%dm", sum.cpu.MilliValue())), sum.amount(fmt.Sprintf("%dMi", sum.memory.Value()>>20))})
	}
	return t, note, nil
}

// sums is what the pods of a job hold and use.
type sums struct {
	running, all, measured int // pods
	gpus                   int64
	cpu, memory            resource.Quantity // of the measured pods
}

// sumOf adds up pods. usage is what is measured of each, by namespace/name.
func sumOf(pods []*corev1.Pod, usage map[string]corev1.ResourceList) (s sums) {
	for _, pod := range pods {
		s.all++
		if over(pod) {
			continue
		}
		if pod.Spec.NodeName != "" { // its node keeps them for it, although an image may be missing
			s.gpus += gpusOf(pod)
		}
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		s.running++
		if used, ok := usage[pod.Namespace+"/"+pod.Name]; ok {
			s.measured++
			s.cpu.Add(used[corev1.ResourceCPU])
			s.memory.Add(used[corev1.ResourceMemory])
		}
	}
	return s
}

// amount marks the sum of a job of which some pods are not measured: metrics-server shows a pod about a minute
// after its start.
func (s sums) amount(text string) string {
	switch {
	case s.running == 0:
		return "<none>"
	case s.measured == 0:
		return "<unknown>"
	case s.measured < s.running:
		return ">=" + text
	}
	return text
}

func (a *API) topped(ctx context.Context, namespace, name string) ([]v1alpha1.LaunchJob, error) {
	if name == "" {
		return a.Jobs(ctx, namespace, "")
	}
	job, err := a.Job(ctx, name)
	if err != nil {
		return nil, err
	}
	return []v1alpha1.LaunchJob{*job}, nil
}

// used returns the current usage of pods by namespace/name.
func (a *API) used(ctx context.Context, namespace string) (map[string]corev1.ResourceList, string) {
	path := "/apis/metrics.k8s.io/v1beta1"
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	var list struct{ Items []podMetrics }
	r := a.client.Get().AbsPath(path+"/pods").Param("labelSelector", names.LabelJob)
	if err := do(ctx, r, &list); err != nil {
		why := "cannot read"
		if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
			why = "the cluster does not serve"
		}
		return nil, why + " metrics.k8s.io (metrics-server), so CPU and memory are unknown: " + oneLine(err.Error())
	}
	used := map[string]corev1.ResourceList{}
	for _, m := range list.Items {
		sum := corev1.ResourceList{}
		for _, c := range m.Containers {
			addTo(sum, c.Usage)
		}
		used[m.Metadata.Namespace+"/"+m.Metadata.Name] = sum
	}
	return used, ""
}

func addTo(sum, more corev1.ResourceList) {
	for name, q := range more {
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
}

func sumGPUs(list corev1.ResourceList) (n int64) {
	for name, q := range list {
		if rendezvous.IsGPU(string(name)) {
			n += q.Value()
		}
	}
	return n
}

// gpusOf returns the GPUs that a pod holds. The limit of an extended resource is also its request.
func gpusOf(pod *corev1.Pod) (n int64) {
	for _, c := range pod.Spec.Containers {
		n += max(sumGPUs(c.Resources.Limits), sumGPUs(c.Resources.Requests))
	}
	return n
}

// TopNodes returns how many GPUs each node has, and how many of them pods hold.
func (a *API) TopNodes(ctx context.Context) (Columns, error) {
	t := Columns{Head: []string{"NAME", "STATUS", "GPUS", "ALLOCATED", "FREE"}}
	var nodes corev1.NodeList
	if err := do(ctx, a.client.Get().Resource("nodes"), &nodes); err != nil {
		return t, a.explain(ctx, "list nodes", err)
	}
	var pods corev1.PodList
	r := a.client.Get().Resource("pods").Param("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed")
	if err := do(ctx, r, &pods); err != nil {
		return t, a.explain(ctx, "list the pods of all namespaces", err)
	}
	held := map[string]int64{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Spec.NodeName != "" && !over(pod) {
			held[pod.Spec.NodeName] += gpusOf(pod)
		}
	}
	var total, allocated int64
	for i := range nodes.Items {
		node := &nodes.Items[i]
		have := sumGPUs(node.Status.Allocatable)
		total, allocated = total+have, allocated+held[node.Name]
		t.Rows = append(t.Rows, []string{node.Name, nodeStatus(node), strconv.FormatInt(have, 10),
			strconv.FormatInt(held[node.Name], 10), strconv.FormatInt(have-held[node.Name], 10)})
	}
	t.Rows = append(t.Rows, []string{"all", "", strconv.FormatInt(total, 10), strconv.FormatInt(allocated, 10), strconv.FormatInt(total-allocated, 10)})
	return t, nil
}

func nodeStatus(node *corev1.Node) string {
	text := "NotReady"
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			text = "Ready"
		}
	}
	if node.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
}

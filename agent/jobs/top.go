package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
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
		running, all, gpus, cpu, memory := 0, 0, int64(0), resource.Quantity{}, resource.Quantity{}
		measured := false
		for _, pod := range of[job.Namespace+"/"+job.Name] {
			all++
			if over(pod) {
				continue
			}
			if pod.Status.Phase == corev1.PodRunning {
				running++
			}
			if pod.Spec.NodeName != "" { // its node keeps them for it, although an image may be missing
				gpus += gpusOf(pod)
			}
			if used, ok := usage[pod.Namespace+"/"+pod.Name]; ok {
				measured = true
				cpu.Add(used[corev1.ResourceCPU])
				memory.Add(used[corev1.ResourceMemory])
			}
		}
		t.Rows = append(t.Rows, []string{job.Namespace, job.Name, job.Status.Phase, fmt.Sprintf("%d/%d", running, all),
			strconv.FormatInt(gpus, 10), amount(measured, fmt.Sprintf("%dm", cpu.MilliValue())), amount(measured, fmt.Sprintf("%dMi", memory.Value()>>20))})
	}
	return t, note, nil
}

func amount(measured bool, text string) string {
	if !measured {
		return "<none>"
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
		return nil, "the cluster does not serve metrics.k8s.io (metrics-server), so CPU and memory are unknown: " + oneLine(err.Error())
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

// isGPU reports whether a resource is a GPU of a device plugin: nvidia.com/gpu, amd.com/gpu,
// gpu.intel.com/i915.
func isGPU(name corev1.ResourceName) bool {
	return strings.HasSuffix(string(name), "/gpu") || strings.HasPrefix(string(name), "gpu.") || strings.HasPrefix(string(name), "nvidia.com/mig-")
}

func sumGPUs(list corev1.ResourceList) (n int64) {
	for name, q := range list {
		if isGPU(name) {
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

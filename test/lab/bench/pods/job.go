package pods

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/test/suite/kube"
)

const owner = "muster.dev/bench" // label of our namespaces

// nodes are those of test/lab/cluster; workers are spread over them.
var nodes = [...]string{"node1", "node2"}

// Space is a namespace.
type Space struct{ Name string }

// NewSpace makes a namespace for a benchmark.
func NewSpace(ctx context.Context, bench string) (Space, error) {
	s := Space{Name: "bench-" + bench + "-" + strings.ToLower(rand.Text()[:5])}
	return s, kube.Open(ctx, s.Name, owner)
}

// Kubectl runs kubectl in the namespace.
func (s Space) Kubectl(ctx context.Context, stdin []byte, args ...string) (string, error) {
	return kube.Kubectl(ctx, s.Name, stdin, args...)
}

// Close takes the namespace away with all that is in it, also when ctx has ended.
func (s Space) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	_, err := s.Kubectl(ctx, nil, "delete", "namespace", s.Name, "--timeout=110s")
	return err
}

// Job is a launcher and its workers. What it has besides is a directory of this machine,
// where Shared names one: /shared in each pod.
type Job struct {
	Name     string
	Image    string // of images/
	Workers  int
	Launcher []string // the launcher's command, of the image's entry point
	Worker   []string // the workers', or
	Shell    bool     // both are lines of sh
	Shared   string
	Bin      string // directory of this machine with the agent's programs, in place of the image's
	CPU      string // each pod's request, and so its share where there is not enough; "": 10m
	Looks    bool   // the launcher may get pods, as kubectl exec does
}

// LauncherName is that of the launcher's pod.
func (j Job) LauncherName() string { return j.Name + "-launcher" }

// WorkerName is that of worker i's pod.
func (j Job) WorkerName(i int) string { return fmt.Sprintf("%s-worker-%d", j.Name, i) }

// Start makes the pods and waits until all of them run. It gives the workers' addresses.
func (s Space) Start(ctx context.Context, j Job) (addresses []string, err error) {
	var names []string
	for i := range j.Workers {
		names = append(names, j.WorkerName(i))
	}
	objects := kube.Access(j.LauncherName(), names)
	if j.Looks {
		role := objects[1].(rbacv1.Role)
		role.Rules[0].Verbs = append(role.Rules[0].Verbs, "get")
	}
	objects = append(objects, j.pod(j.LauncherName(), "launcher", nodes[0], j.Launcher))
	for i, name := range names {
		pod := j.pod(name, "worker", nodes[i%len(nodes)], j.Worker)
		pod.Labels["muster.dev/index"] = fmt.Sprint(i)
		objects = append(objects, pod)
	}
	if err := kube.Apply(ctx, s.Name, objects...); err != nil {
		return nil, err
	}
	if _, err := s.Kubectl(ctx, nil, "wait", "--for=condition=Ready", "pods", "-l", "muster.dev/job="+j.Name, "--timeout=180s"); err != nil {
		said, _ := s.Kubectl(ctx, nil, "get", "pods", "-o", "wide") // it stands beside the error
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	list, err := s.pods(ctx, j)
	for _, pod := range list {
		addresses = append(addresses, pod.Status.PodIP)
	}
	return addresses, err
}

// pods are the workers', in their order.
func (s Space) pods(ctx context.Context, j Job) ([]corev1.Pod, error) {
	text, err := s.Kubectl(ctx, nil, "get", "pods", "-l", "muster.dev/role=worker,muster.dev/job="+j.Name, "-o", "json")
	if err != nil {
		return nil, err
	}
	var got corev1.PodList
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return nil, fmt.Errorf("read pods: %w", err)
	}
	list := make([]corev1.Pod, j.Workers)
	for _, pod := range got.Items {
		var i int
		if _, err := fmt.Sscan(pod.Labels["muster.dev/index"], &i); err != nil || i >= len(list) {
			return nil, errors.Join(err, fmt.Errorf("pod %s is none of ours", pod.Name))
		}
		list[i] = pod
	}
	return list, nil
}

func (j Job) pod(name, role, node string, args []string) *corev1.Pod {
	grace := int64(2)
	pod := kube.Restricted(name, j.Name, role, "localhost/muster-"+j.Image+":dev", args)
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = node, &grace
	c := &pod.Spec.Containers[0]
	if j.CPU != "" {
		c.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(j.CPU)
	}
	if j.Shell {
		c.Command, c.Args = []string{"sh", "-c"}, args
	}
	for _, m := range []struct{ name, from, to string }{{"shared", j.Shared, "/shared"}, {"bin", j.Bin, "/muster"}} {
		if m.from != "" {
			kube.Mount(pod, m.name, m.from, m.to, false)
		}
	}
	return pod
}

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

const owner = "muster.dev/bench" // label of the benchmarks' namespaces

// nodes are the nodes of test/lab/cluster. Workers are spread over them.
var nodes = [...]string{"node1", "node2"}

// Nodes returns the nodes on which the pods run.
func Nodes() []string { return nodes[:] }

// Space is a namespace of a benchmark.
type Space struct{ Name string }

// NewSpace creates a namespace for a benchmark.
func NewSpace(ctx context.Context, bench string) (Space, error) {
	s := Space{Name: "bench-" + bench + "-" + strings.ToLower(rand.Text()[:5])}
	return s, kube.Open(ctx, s.Name, owner)
}

// Kubectl runs kubectl in the namespace.
func (s Space) Kubectl(ctx context.Context, stdin []byte, args ...string) (string, error) {
	return kube.Kubectl(ctx, s.Name, stdin, args...)
}

// Close deletes the namespace and everything in it, also after ctx has ended.
func (s Space) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	_, err := s.Kubectl(ctx, nil, "delete", "namespace", s.Name, "--timeout=110s")
	return err
}

// Job describes a launcher and its workers.
type Job struct {
	Name     string
	Image    string // in images/
	Workers  int
	Launcher []string // the launcher's arguments, for the image's entry point; nil: no launcher
	Worker   []string // the workers' arguments
	Shell    bool     // Launcher and Worker are lines of sh instead
	Shared   string   // directory of this machine, mounted as /shared in each pod; "": none
	Bin      string   // directory of this machine with the agent's programs, which replace the image's
	CPU      string   // each pod's CPU request, and so its share when processors are short; "": 10m
	Looks    bool     // the launcher may get pods, which kubectl exec needs
}

// LauncherName returns the name of the launcher's pod.
func (j Job) LauncherName() string { return j.Name + "-launcher" }

// WorkerName returns the name of worker i's pod.
func (j Job) WorkerName(i int) string { return fmt.Sprintf("%s-worker-%d", j.Name, i) }

// Start creates the pods and waits until all of them run. It returns the workers' addresses.
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
	if j.Launcher != nil {
		objects = append(objects, j.pod(j.LauncherName(), "launcher", nodes[0], j.Launcher))
	}
	for i, name := range names {
		pod := j.pod(name, "worker", nodes[i%len(nodes)], j.Worker)
		pod.Labels["muster.dev/index"] = fmt.Sprint(i)
		objects = append(objects, pod)
	}
	if err := kube.Apply(ctx, s.Name, objects...); err != nil {
		return nil, err
	}
	if _, err := s.Kubectl(ctx, nil, "wait", "--for=condition=Ready", "pods", "-l", "muster.dev/job="+j.Name, "--timeout=180s"); err != nil {
		said, _ := s.Kubectl(ctx, nil, "get", "pods", "-o", "wide") // best effort: the list explains the error below
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	list, err := s.pods(ctx, j)
	for _, pod := range list {
		addresses = append(addresses, pod.Status.PodIP)
	}
	return addresses, err
}

// pods returns the workers' pods, in the order of their indexes.
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
			return nil, errors.Join(err, fmt.Errorf("pod %s is not a worker of this job", pod.Name))
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

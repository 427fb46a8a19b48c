//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/proc"
)

// container is a container of a worker or launcher on this machine, identified by its first process.
type container struct {
	pid     int
	env     []string
	cgroups []string // one directory in each hierarchy
	usage   string   // file with the CPU time
}

// containers finds the containers of pods by the host name that the kubelet gave them.
func containers(pods []string) (map[string]container, error) {
	all, err := proc.Containers()
	if err != nil {
		return nil, err
	}
	found := map[string]container{}
	for _, pod := range pods {
		switch here := all[pod]; len(here) {
		case 0:
			return nil, fmt.Errorf("find containers: pod %s has none on this machine", pod)
		case 1:
			c := container{pid: here[0].PID, env: here[0].Env}
			if err := c.readCgroups(); err != nil {
				return nil, err
			}
			found[pod] = c
		default:
			return nil, fmt.Errorf("find container: %d of %s", len(here), pod)
		}
	}
	return found, nil
}

func (c *container) readCgroups() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	if err != nil {
		return err
	}
	_, err = os.Stat("/sys/fs/cgroup/cgroup.controllers")
	c.cgroups, c.usage = cgroups(string(text), err == nil)
	return nil
}

// cgroups returns the directories of a process's cgroups, and the file with their CPU time.
func cgroups(text string, unified bool) (dirs []string, usage string) {
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(words) < 3 {
			continue
		}
		hierarchy, _, _ := strings.Cut(strings.TrimPrefix(words[1], "name="), ",")
		dir := filepath.Join("/sys/fs/cgroup", hierarchy, words[2])
		switch {
		case words[1] == "" && unified:
			return []string{dir}, filepath.Join(dir, "cpu.stat")
		case words[1] == "":
			continue
		case strings.Contains(words[1], "cpuacct"):
			usage = filepath.Join(dir, "cpuacct.usage")
		}
		dirs = append(dirs, dir)
	}
	return dirs, usage
}

// cpu returns the CPU time of the container so far, in seconds.
func (c container) cpu() (float64, error) {
	text, err := os.ReadFile(c.usage)
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return cpuSeconds(string(text))
}

func cpuSeconds(text string) (float64, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 1: // cpuacct.usage
		ns, err := strconv.ParseInt(words[0], 10, 64)
		return float64(ns) / 1e9, err
	case len(words) > 1 && words[0] == "usage_usec": // cpu.stat
		us, err := strconv.ParseInt(words[1], 10, 64)
		return float64(us) / 1e6, err
	}
	return 0, fmt.Errorf("read CPU time: %q", text)
}

// pss returns the sum of the proportional set sizes of the container's processes, in MB.
func (c container) pss() (mb float64, err error) {
	list, err := os.ReadFile(filepath.Join(c.cgroups[0], "cgroup.procs"))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for word := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return 0, fmt.Errorf("read memory: %w", err)
		}
		if bytes, err := proc.PSS(pid); err == nil { // a process may have ended meanwhile
			mb += bytes / 1e6
		}
	}
	if mb == 0 {
		return 0, errors.New("read memory: no process")
	}
	return mb, nil
}

// enter returns a command that runs a script in the container, with its namespaces, cgroup and environment.
func (c container) enter(ctx context.Context, script string, env ...string) *exec.Cmd {
	return c.command(ctx, []string{"--all", "--", "/bin/sh", "-c", script}, env)
}

// outside is like enter, but keeps this machine's PID namespace: an agent that enters
// other containers needs their PIDs on this machine.
func (c container) outside(ctx context.Context, script string, env ...string) *exec.Cmd {
	return c.command(ctx, []string{"--mount", "--net", "--uts", "--ipc", "--", "unshare", "--mount", "/bin/sh", "-c",
		"mount -t proc proc /proc && " + script}, env)
}

func (c container) command(ctx context.Context, nsenter, env []string) *exec.Cmd {
	join := ""
	for _, dir := range c.cgroups {
		join += "echo $$ > " + dir + "/cgroup.procs && "
	}
	args := append([]string{"-c", join + `exec nsenter "$@"`, "sh", "--target", strconv.Itoa(c.pid)}, nsenter...)
	cmd := exec.CommandContext(ctx, "/bin/sh", args...)
	cmd.Env = append(append([]string{"HOME=/root", "SHELL=/bin/bash"}, c.env...), env...)
	return cmd
}

// path returns the path of a container's file on this machine.
func (c container) path(name string) string { return fmt.Sprintf("/proc/%d/root%s", c.pid, name) }

var selector = client.MatchingLabels{"muster.dev/role": "worker"}

// create creates n workers.
func (w *world) create(ctx context.Context, n int, pid1 []string) error {
	var objects []any
	for i := range n {
		objects = append(objects, workerPod(i, pid1))
	}
	return kube.Apply(ctx, w.ns, objects...)
}

// remove deletes all workers.
func (w *world) remove(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pods", "-l", "muster.dev/role=worker", "--timeout=120s")
	return err
}

// ready watches the workers until n of them are Ready. It returns their addresses, and the time
// at which the watch saw the last one.
func (w *world) ready(ctx context.Context, n int) (addresses map[string]string, at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	news, err := w.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(w.ns), selector)
	if err != nil {
		return nil, at, fmt.Errorf("watch workers: %w", err)
	}
	defer news.Stop()
	addresses = map[string]string{}
	for event := range news.ResultChan() {
		at = time.Now()
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return nil, at, fmt.Errorf("watch workers: %v", event.Object)
		}
		if event.Type == watch.Deleted {
			return nil, at, fmt.Errorf("watch workers: %s was deleted", pod.Name)
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				addresses[pod.Name] = pod.Status.PodIP
			}
		}
		if len(addresses) == n {
			return addresses, at, nil
		}
	}
	return nil, at, fmt.Errorf("watch workers: %d of %d are Ready: %w", len(addresses), n, errors.Join(ctx.Err()))
}

// nsenterAgent is an rsh agent with a table of PIDs by host. It runs in the machine's
// PID namespace. The processes that it starts have a container's capabilities: with all capabilities, hwloc
// in each daemon would read more of the machine's devices than it may in a container.
const nsenterAgent = `read -r pid < /tmp/hosts/"$1"
shift
exec nsenter --target "$pid" --mount --uts --ipc --net --pid -- setpriv --bounding-set ` + capabilities + ` /bin/sh -c "$*"
`

// capabilities are the capabilities that containerd gives to a container.
const capabilities = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"

// layFloor writes the files that the floor's launcher needs: the agent, its table and a hostfile.
func (w *world) layFloor(found map[string]container, addresses map[string]string) error {
	c := w.launchers[floorPod]
	if err := errors.Join(os.RemoveAll(c.path("/tmp/hosts")), os.MkdirAll(c.path("/tmp/hosts"), 0o755)); err != nil {
		return err
	}
	hostfile := ""
	for i := range len(addresses) {
		address := addresses[worker(i)]
		hostfile += address + " slots=1\n"
		if err := os.WriteFile(c.path("/tmp/hosts/"+address), fmt.Appendln(nil, found[worker(i)].pid), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(c.path("/tmp/agent"), []byte(nsenterAgent), 0o755), os.WriteFile(c.path("/tmp/hostfile"), []byte(hostfile), 0o644))
}

const (
	image   = "localhost/muster-bench:dev" // images/bench
	jobName = "launch"
	most    = 100 // number of workers that the Roles name
)

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", jobName, i) }

func workers(n int) (all []string) {
	for i := range n {
		all = append(all, worker(i))
	}
	return all
}

// rights returns the rights of each launcher: mpi-operator v1's for kubectl, the Role in test/e2e/manifests/pi.yaml
// for Muster, and the right to watch pods for ssh.
func rights() []any {
	look := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}
	exec := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: workers(most)}
	var all []any
	for _, objects := range [][]any{kube.Bound(kubexecPod, look, exec), kube.Bound(slowPod, look, exec), kube.Bound(sshPod, look),
		kube.Access(musterPod, workers(most)), kube.Bound(floorPod)} {
		all = append(all, objects...)
	}
	return all
}

// launcher returns a pod that only sleeps; scripts are run in its container. Its CPU request is its weight when
// processors are short. The floor's daemons and ranks run in the cgroup of the floor's launcher, so that pod has the
// weight of a launcher and of all workers.
func launcher(name string) corev1.Pod {
	cpu, node := "200m", "node1"
	if name == floorPod {
		cpu, node = "800m", "node2"
	}
	pod := pod(name, []string{"sleep", "inf"}, cpu)
	pod.Spec.ServiceAccountName = name
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	pod.Labels = map[string]string{"muster.dev/job": jobName, "muster.dev/role": "launcher"}
	return pod
}

func workerPod(i int, pid1 []string) corev1.Pod {
	pod, token := pod(worker(i), pid1, "10m"), false
	labels := map[string]string{"muster.dev/job": jobName, "muster.dev/role": "worker"}
	pod.Labels = map[string]string{"muster.dev/index": fmt.Sprint(i)}
	for key, value := range labels {
		pod.Labels[key] = value
	}
	pod.Spec.AutomountServiceAccountToken = &token
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	return pod
}

func pod(name string, pid1 []string, cpu string) corev1.Pod {
	grace, mode := int64(1), int32(0o600)
	role := "launcher"
	if cpu == "10m" {
		role = "worker"
	}
	return corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"), ObjectMeta: kube.Named(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name: role, Image: image, ImagePullPolicy: corev1.PullNever, Command: pid1,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("32Mi")}},
			VolumeMounts: []corev1.VolumeMount{{Name: "keys", MountPath: "/root/.ssh"}},
		}},
		Volumes: []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: keySecret, DefaultMode: &mode}}}},
	}}
}

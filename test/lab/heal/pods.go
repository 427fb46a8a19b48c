//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

const (
	podImage = "localhost/muster-frameworks:dev" // images/frameworks
	jobName  = "heal"
	launcher = jobName + "-launcher"
	owner    = "muster.dev/heal" // label of the runs' namespaces

	mountScripts = "/scripts"
	mountShared  = "/shared"
	mountVenvs   = "/venv" // /venv/NAME
)

// nodes are the nodes of test/lab/cluster. The launcher is on the first. Rows that lose a node lose
// the second.
var nodes = [...]string{"node1", "node2"}

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", jobName, i) }

func workers(n int) (names []string) {
	for i := range n {
		names = append(names, worker(i))
	}
	return names
}

// create creates the namespace of a run and the job in it.
func (w *world) create(ctx context.Context) error {
	w.ns = "heal-" + strings.ReplaceAll(w.row.key, "/", "-") + "-" + strings.ToLower(rand.Text()[:5])
	if err := kube.Open(ctx, w.ns, owner); err != nil {
		return err
	}
	text, err := scriptMap()
	if err != nil {
		return err
	}
	objects := append(kube.Access(launcher, workers(w.row.most())), text, meeting())
	if !w.row.alone {
		pod, err := w.launcherPod()
		if err != nil {
			return err
		}
		objects = append(objects, pod)
	}
	for i := range w.row.size() {
		if slices.Contains(w.row.late, i) || slices.Contains(w.row.never, i) {
			continue
		}
		pod, err := w.workerPod(i, nodes[i%len(nodes)])
		if err != nil {
			return err
		}
		objects = append(objects, pod)
	}
	return kube.Apply(ctx, w.ns, objects...)
}

// most returns the maximum number of workers.
func (r row) most() int { return max(r.size(), 5) }

func scriptMap() (any, error) {
	m := corev1.ConfigMap{TypeMeta: kube.Kind("v1", "ConfigMap"), ObjectMeta: kube.Named("scripts"), Data: map[string]string{}}
	files, err := fs.Glob(scripts, "testdata/*.py")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := scripts.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m.Data[path.Base(file)] = string(text)
	}
	return m, nil
}

// meeting returns the Service that gives the workers their names.
func meeting() any {
	return corev1.Service{TypeMeta: kube.Kind("v1", "Service"), ObjectMeta: kube.Named(jobName), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
		Selector: map[string]string{"muster.dev/job": jobName, "muster.dev/role": "worker"}}}
}

func (w *world) launcherPod() (*corev1.Pod, error) {
	args := []string{"run", "--job=" + jobName}
	if !w.row.elastic() {
		args = append(args, fmt.Sprintf("--workers=%d", w.row.size()))
	}
	args = append(args, w.words(w.row.flags)...)
	return w.pod(launcher, "launcher", nodes[0], append(append(args, "--"), w.words(w.row.argv)...))
}

// make creates worker i.
func (w *world) make(ctx context.Context, i int) error {
	pod, err := w.workerPod(i, nodes[i%len(nodes)])
	if err != nil {
		return err
	}
	return kube.Apply(ctx, w.ns, pod)
}

// workerPod returns the pod of worker i, on a node; "": on any node.
func (w *world) workerPod(i int, node string) (*corev1.Pod, error) {
	args := []string{"worker"}
	if w.row.worker != nil {
		args = w.words(w.row.worker)
	}
	pod, err := w.pod(worker(i), "worker", node, args)
	if err != nil {
		return nil, err
	}
	pod.Labels["muster.dev/index"] = fmt.Sprint(i)
	pod.Spec.Hostname, pod.Spec.Subdomain = worker(i), jobName
	return pod, nil
}

// words replaces the placeholders in a row's words by the directories in the pods.
func (w *world) words(words []string) (filled []string) {
	places := strings.NewReplacer("{scripts}", mountScripts, "{shared}", mountShared)
	for _, word := range words {
		filled = append(filled, places.Replace(word))
	}
	return filled
}

// environment returns the variables of every container of a run.
func (w *world) environment() []corev1.EnvVar {
	path, packages := "/usr/local/bin:/usr/bin:/bin", []string{mountScripts}
	for _, name := range w.row.venvs() {
		path = mountVenvs + "/" + name + "/bin:" + path
		packages = append(packages, mountVenvs+"/"+name+"/lib/python3.11/site-packages")
	}
	all := append([]string{"PATH=" + path, "PYTHONPATH=" + strings.Join(packages, ":"), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
		"OMP_NUM_THREADS=1", "HOME=/tmp", "HEAL_SHARED=" + mountShared}, w.words(w.row.env)...)
	return kube.Environment(all...)
}

func (r row) venvs() (list []string) {
	if r.venv != "" {
		list = []string{r.venv}
	}
	return append(list, r.also...)
}

func (w *world) pod(name, role, node string, args []string) (*corev1.Pod, error) {
	grace := int64(max(w.row.grace, 1))
	if w.row.grace == 0 {
		grace = 30
	}
	pod := kube.Restricted(name, jobName, role, podImage, args)
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = node, &grace
	pod.Spec.Containers[0].Env = w.environment()
	kube.MountFiles(pod, "scripts", mountScripts)
	kube.Mount(pod, "shared", w.shared, mountShared, false)
	for _, venv := range w.row.venvs() {
		dir, err := program.MadeVenv(venv)
		if err != nil {
			return nil, err
		}
		kube.Mount(pod, venv, dir, mountVenvs+"/"+venv, true)
	}
	return pod, nil
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	// settle is how long pods run before the first reading. By then the kubelets have sent
	// their status updates, and the API server has released some of that memory.
	settle = 15 * time.Second
	// into is the time from the last rank's line to the last reading.
	into = 2 * time.Minute
)

const logPath = "/api/v1/namespaces/" + space + "/pods/" + launcher + "/log"

// world is the cluster, and a client for the API server's own metrics.
type world struct {
	*measure.World
	image    string
	kubectl  string
	versions []string // versions of the programs in the image
}

// result is what was observed in one run.
type result struct {
	Contender                 string
	Workers                   int
	Before, Launched, Into    reading
	Until, Meanwhile, ToEnd   int // requests: until all ranks had printed, from then to the last reading, and in total
	Asked                     map[string]int
	LaunchSeconds, EndSeconds float64
}

// all runs all jobs; contenders take turns.
func (w *world) all(ctx context.Context, o options, chosen []contender) (results []result, err error) {
	if err := w.Spaces(ctx, "privileged", space); err != nil {
		return nil, err
	}
	for size, n := range o.workers {
		if err := kube.Apply(ctx, space, common(n)...); err != nil {
			return nil, err
		}
		for round := range o.rounds {
			for _, c := range chosen {
				if c.once && round+size > 0 {
					continue
				}
				r, err := w.run(ctx, c, n)
				if err != nil {
					return nil, fmt.Errorf("%s, %d workers: %w", c.key, n, err)
				}
				w.Say("round %d: %s, %d workers: %g streams launched, %g after %s; %+g goroutines, %+.0f kB live; requests %d + %d, %d to the end", round+1,
					c.key, n, r.Launched.Streams, r.Into.Streams, into, r.Into.Goroutines-r.Before.Goroutines, (r.Into.Live-r.Before.Live)/1e3, r.Until, r.Meanwhile, r.ToEnd)
				results = append(results, r)
			}
		}
	}
	return results, nil
}

// run runs one job, from its workers' start to its end, and deletes its pods.
func (w *world) run(ctx context.Context, c contender, n int) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, into+5*time.Minute)
	defer cancel()
	defer func() { err = errors.Join(err, w.clear(context.WithoutCancel(ctx))) }()
	r = result{Contender: c.key, Workers: n}
	if err := kube.Apply(ctx, space, c.workers(w.image, n)...); err != nil {
		return r, err
	}
	if err := w.Await(ctx, 3*time.Minute, "workers to run", func() (bool, error) { return w.running(ctx, n) }); err != nil {
		return r, err
	}
	if err := await.Pause(ctx, settle); err != nil {
		return r, err
	}
	if w.versions == nil {
		if w.versions, err = measure.Versions(ctx, space, worker(0), "mpirun --version | head -n 1; /muster/agent version"); err != nil {
			return r, err
		}
	}
	if err := w.Await(ctx, time.Minute, "other streams to end", func() (bool, error) {
		r.Before, err = w.read(ctx)
		return err == nil && r.Before.Streams == 0, err
	}); err != nil {
		return r, err
	}
	if err := kube.Apply(ctx, space, c.launcher(w.image, n, w.kubectl)); err != nil {
		return r, err
	}
	if err := w.Await(ctx, 3*time.Minute, "all ranks' lines", func() (bool, error) { return w.printed(ctx, n) }); err != nil {
		return r, err
	}
	if r.Launched, err = w.read(ctx); err != nil {
		return r, err
	}
	if err := await.Pause(ctx, into); err != nil {
		return r, err
	}
	if r.Into, err = w.read(ctx); err != nil {
		return r, err
	}
	if over, err := w.ended(ctx); over || err != nil {
		return r, errors.Join(err, errors.New("the job ended before the last reading"))
	}
	if err := w.Await(ctx, 2*time.Minute, "the job's end", func() (bool, error) { return w.ended(ctx) }); err != nil {
		return r, err
	}
	return r, w.count(&r)
}

// count counts the requests of the launcher's service account in the audit log.
func (w *world) count(r *result) error {
	all, err := audit.Since(w.Audit, r.Before.At)
	if err != nil {
		return err
	}
	var own []audit.Request
	for _, q := range all {
		if q.User != "system:serviceaccount:"+space+":"+launcher {
			continue
		}
		own = append(own, q)
		switch {
		case q.Received.Before(r.Launched.At):
			r.Until++
		case q.Received.Before(r.Into.At):
			r.Meanwhile++
		}
	}
	r.ToEnd, r.Asked = len(own), audit.Count(own)
	if len(own) == 0 {
		return errors.New("the audit log has no request by the launcher")
	}
	return nil
}

// running reports whether the container of each worker runs.
func (w *world) running(ctx context.Context, n int) (bool, error) {
	var pods corev1.PodList
	if err := w.Client.List(ctx, &pods, client.InNamespace(space)); err != nil {
		return false, err
	}
	running := 0
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running == n, nil
}

// printed reports whether each rank has printed a line. It fails if the launcher ended before that.
func (w *world) printed(ctx context.Context, n int) (bool, error) {
	if over, err := w.ended(ctx); over || err != nil {
		return over, errors.Join(err, errors.New("the job ended before all ranks had printed"))
	}
	log, err := w.Fetch(ctx, logPath)
	return strings.Count("\n"+string(log), "\nrank ") == n, err
}

// ended reports whether mpirun has ended. It is an error if the launcher's pod failed.
func (w *world) ended(ctx context.Context) (bool, error) {
	var p corev1.Pod
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: launcher}, &p); err != nil {
		return false, err
	}
	if p.Status.Phase == corev1.PodFailed {
		log, _ := w.Fetch(ctx, logPath) // best effort: the log explains the error below
		return true, fmt.Errorf("the launcher failed:\n%s", log)
	}
	return p.Status.Phase == corev1.PodSucceeded, nil
}

// clear deletes the pods.
func (w *world) clear(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, space, nil, "delete", "pods", "--all", "--grace-period=1", "--timeout=100s")
	return err
}

const (
	job      = "hold"
	launcher = job + "-launcher"
	space    = "bench-hold"
)

// contender is a way for mpirun to reach the workers.
type contender struct {
	key, name string
	worker    []string          // command of a worker
	before    []string          // arguments before mpirun
	options   []string          // options of mpirun
	env       map[string]string // of the launcher
	once      bool              // for comparison only: runs in the first round, at the first size
}

// contenders returns the contenders in the order in which they take turns.
func contenders() []contender {
	agent, sleep := []string{"/muster/agent", "worker"}, []string{"sleep", "infinity"}
	run := []string{"/muster/agent", "run", "--job=" + job}
	kubexec := map[string]string{"OMPI_MCA_plm_rsh_agent": "/opt/bench/kubexec.sh", "OMPI_MCA_orte_default_hostfile": "/job/hostfile"}
	flat := map[string]string{"OMPI_MCA_plm_rsh_no_tree_spawn": "1", "OMPI_MCA_plm_rsh_num_concurrent": "128"}
	for name, value := range kubexec {
		flat[name] = value
	}
	return []contender{
		{key: "muster", name: "Muster", worker: agent, before: run},
		{key: "kubexec", name: "kubexec.sh, as mpi-operator v1 sets it", worker: sleep, env: kubexec},
		{key: "attached", name: "Muster, daemons told to stay attached", worker: agent, before: run, options: []string{"--leave-session-attached"}, once: true},
		{key: "flat", name: "kubexec.sh, plm_rsh_no_tree_spawn", worker: sleep, env: flat, once: true},
	}
}

// rank is the command of a rank: it prints a line and runs until after the last reading.
const rank = `echo "rank $OMPI_COMM_WORLD_RANK"; exec sleep 130`

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", job, i) }

// common returns the objects that all runs of one size share.
func common(n int) []any {
	var names []string
	hosts := ""
	for i := range n {
		names = append(names, worker(i))
		hosts += fmt.Sprintf("%s.%s slots=1\n", worker(i), job)
	}
	return append(kube.Bound(launcher,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: names}),
		corev1.Service{TypeMeta: kube.Kind("v1", "Service"), ObjectMeta: kube.Named(job), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"muster.dev/role": "worker"}}},
		corev1.ConfigMap{TypeMeta: kube.Kind("v1", "ConfigMap"), ObjectMeta: kube.Named(job), Data: map[string]string{"hostfile": hosts}})
}

// workers returns the workers' pods.
func (c contender) workers(image string, n int) (pods []any) {
	for i := range n {
		p := pod(image, worker(i), "worker", c.worker)
		p.Labels["muster.dev/index"] = fmt.Sprint(i)
		p.Spec.Hostname, p.Spec.Subdomain, p.Spec.AutomountServiceAccountToken = p.Name, job, new(bool)
		pods = append(pods, p)
	}
	return pods
}

// launcher returns the launcher's pod, in which mpirun and this machine's kubectl are available.
func (c contender) launcher(image string, n int, kubectl string) corev1.Pod {
	var argv []string
	if c.before != nil {
		argv = append(append(argv, c.before...), fmt.Sprintf("--workers=%d", n), "--")
	}
	argv = append(append(argv, "mpirun", "--allow-run-as-root"), append(c.options, "sh", "-c", rank)...)
	p := pod(image, launcher, "launcher", argv)
	p.Spec.ServiceAccountName = launcher
	main := &p.Spec.Containers[0]
	for name, value := range c.env {
		main.Env = append(main.Env, corev1.EnvVar{Name: name, Value: value})
	}
	file := corev1.HostPathFile
	p.Spec.Volumes = []corev1.Volume{
		{Name: "kubectl", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: kubectl, Type: &file}}},
		{Name: "job", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: job}}}},
	}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "kubectl", MountPath: "/opt/kube/kubectl", ReadOnly: true}, {Name: "job", MountPath: "/job"}}
	return p
}

// pod returns a pod with a short grace period, because sleep as PID 1 ignores SIGTERM.
func pod(image, name, role string, command []string) corev1.Pod {
	soon := int64(1)
	return corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"muster.dev/job": job, "muster.dev/role": role}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &soon,
			Containers: []corev1.Container{{Name: "main", Image: image, ImagePullPolicy: corev1.PullNever, Command: command}}}}
}

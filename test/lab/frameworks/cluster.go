//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/suite/kube"
)

// cluster runs rows as pods on every node of the cluster of KUBECONFIG.
type cluster struct {
	scripts string // directory
	dir     string // parent of the directory that all pods of a row share: the nodes see this machine's files
}

// sweepTime is the time for logs and cleanup after a row, whether or not it succeeded.
const sweepTime = time.Minute

func (c cluster) run(ctx context.Context, r row, venvs map[string]venv) (o outcome, err error) {
	name := "frameworks-" + strings.ReplaceAll(r.key, "/", "-") + "-" + strings.ToLower(rand.Text()[:5])
	shared, err := os.MkdirTemp(c.dir, "r")
	if err == nil {
		err = os.Chmod(shared, 0o777) // pods run as another user
	}
	if err != nil {
		return o, err
	}
	text, err := c.configMap()
	if err != nil {
		return o, err
	}
	if err := kube.Open(ctx, name, owner); err != nil {
		return o, err
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
		defer cancel()
		if err != nil {
			err = errors.Join(err, errors.New(c.remains(after, name)))
		}
		_, gone := kube.Kubectl(after, name, nil, "delete", "namespace", name, "--wait=false")
		err = errors.Join(err, gone)
	}()
	o.began = time.Now()
	if err := kube.Apply(ctx, name, append(append(kube.Access(launcher, names(r.size())), text), pods(r, venvs, shared)...)...); err != nil {
		return o, err
	}
	told := befall(ctx, r, c.live(name))
	o.code, err = kube.Terminated(ctx, name, launcher)
	o.ended = time.Now()
	var terr, rerr error
	o.struck, terr = told()
	o.report, rerr = reported(shared)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
	defer cancel()
	log, lerr := kube.Kubectl(after, name, nil, "logs", launcher)
	o.out, o.err = log, log
	if err = errors.Join(err, terr, rerr, lerr); err != nil {
		return o, err
	}
	o.left, err = c.workersLeft(after, name, r)
	return o, err
}

// workersLeft returns the workers that did not end by themselves with 0. It is an error if all
// workers were on one node.
func (c cluster) workersLeft(ctx context.Context, namespace string, r row) (left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for i := range r.size() {
		code, err := kube.Terminated(ctx, namespace, worker(i))
		if err != nil {
			left = append(left, worker(i)+" is still running")
		} else if code != 0 {
			left = append(left, fmt.Sprintf("%s ended with %d", worker(i), code))
		}
	}
	nodes, err := kube.Kubectl(ctx, namespace, nil, "get", "pods", "-l", "muster.dev/role=worker", "-o", `jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}`)
	if err != nil {
		return left, err
	}
	on := map[string]bool{}
	for _, node := range strings.Fields(nodes) {
		on[node] = true
	}
	if len(on) < 2 {
		return left, fmt.Errorf("all workers ran on %v", nodes)
	}
	return left, nil
}

func (c cluster) configMap() (any, error) {
	files, err := filepath.Glob(filepath.Join(c.scripts, "*.py"))
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, file := range files {
		paths[filepath.Base(file)] = file
	}
	return kube.Files("scripts", paths)
}

// live returns the actions for the running launcher of a row.
func (c cluster) live(namespace string) live {
	address := ""
	return live{
		output: func(ctx context.Context) string {
			log, _ := kube.Kubectl(ctx, namespace, nil, "logs", launcher) // no log before the launcher starts
			return log
		},
		stop: func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, namespace, nil, "exec", launcher, "--", "/bin/sh", "-c", "kill -TERM 1")
			return err
		},
		cut: func(ctx context.Context) (err error) {
			if address == "" {
				if address, err = kube.Kubectl(ctx, namespace, nil, "get", "pod", launcher, "-o", "jsonpath={.status.podIP}"); err != nil {
					return err
				}
			}
			said, err := exec.CommandContext(ctx, os.Getenv("MUSTER_CLUSTER"), "apiserver", "cut", address).CombinedOutput()
			if err != nil {
				return fmt.Errorf("cut %s: %w: %s", address, err, said)
			}
			return nil
		},
	}
}

// remains describes the pods of a row that failed.
func (c cluster) remains(ctx context.Context, namespace string) string {
	var b strings.Builder
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"}, {"get", "events", "--sort-by=.lastTimestamp"}, {"logs", worker(0), "--tail=20"},
	} {
		said, err := kube.Kubectl(ctx, namespace, nil, args...)
		if err != nil {
			said += err.Error()
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", strings.Join(args, " "), strings.TrimSpace(said))
	}
	return b.String()
}

const (
	podImage = "localhost/muster-frameworks:dev" // images/frameworks
	jobName  = "row"
	launcher = jobName + "-launcher"
	owner    = "muster.dev/frameworks" // label of the rows' namespaces

	mountScripts = "/scripts"
	mountShared  = "/shared"
	mountVenvs   = "/venv" // /venv/NAME
)

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", jobName, i) }

func names(n int) (list []string) {
	for i := range n {
		list = append(list, worker(i))
	}
	return list
}

// pods returns the launcher and the workers of a row.
func pods(r row, venvs map[string]venv, shared string) []any {
	paths := map[string]string{"scripts": mountScripts, "shared": mountShared, "venv": mounted(venvs[r.venv])}
	args := []string{"run", "--job=" + jobName, fmt.Sprintf("--workers=%d", r.size()), fmt.Sprintf("--slots=%d", max(1, r.slots))}
	args = append(append(args, fill(r.flags, paths)...), "--")
	args = append(args, fill(r.argv, paths)...)
	all := []any{pod(r, venvs, shared, paths, launcher, "launcher", args)}
	for i := range r.size() {
		p := pod(r, venvs, shared, paths, worker(i), "worker", []string{"worker"})
		p.Labels["muster.dev/index"] = fmt.Sprint(i)
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"muster.dev/job": jobName, "muster.dev/role": "worker"}},
		}}
		all = append(all, p)
	}
	return all
}

func mounted(v venv) string { return mountVenvs + "/" + v.name }

func pod(r row, venvs map[string]venv, shared string, paths map[string]string, name, role string, args []string) *corev1.Pod {
	pod := kube.Restricted(name, jobName, role, podImage, args)
	kube.MountFiles(pod, "scripts", mountScripts)
	kube.Mount(pod, "shared", shared, mountShared, false)
	for _, n := range r.recipes() {
		kube.Mount(pod, n, venvs[n].dir, mounted(venvs[n]), true)
	}
	env := append(pythonEnv(r, venvs, mounted),
		searchPath(r, venvs, mounted, "/usr/local/bin", "/usr/bin", "/bin"), "PYTHONDONTWRITEBYTECODE=1")
	pod.Spec.Containers[0].Env = kube.Environment(append(env, fill(r.env, paths)...)...)
	return pod
}

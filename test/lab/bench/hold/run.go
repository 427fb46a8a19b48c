//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	// settle is how long pods have run before the first reading: the kubelets have said
	// what they had to say, and the API server has forgotten some of it.
	settle = 15 * time.Second
	// into is when the last reading is, from all ranks' lines on.
	into = 2 * time.Minute
)

const logPath = "/api/v1/namespaces/" + space + "/pods/" + launcher + "/log"

// world is the cluster, and a client for the API server's own numbers.
type world struct {
	*measure.World
	image    string
	kubectl  string
	versions []string // of what runs
}

// result is what was seen in one run.
type result struct {
	Contender                 string
	Workers                   int
	Before, Launched, Into    reading
	Until, Meanwhile, ToEnd   int // requests: until all ranks had printed, from there to the last reading, in all
	Asked                     map[string]int
	LaunchSeconds, EndSeconds float64
}

// all runs everything, contenders taking turns.
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

// run is one job from its workers' start to its end. It leaves no pod.
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
	if err := w.Await(ctx, time.Minute, "streams of others to end", func() (bool, error) {
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

// count finds in the audit log what the launcher's service account asked for.
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
		return errors.New("the audit log has no request of the launcher's")
	}
	return nil
}

// running: the container of each worker runs.
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

// printed: each rank has said a line. A launcher that has ended will print no more.
func (w *world) printed(ctx context.Context, n int) (bool, error) {
	if over, err := w.ended(ctx); over || err != nil {
		return over, errors.Join(err, errors.New("the job has ended before all ranks had printed"))
	}
	log, err := w.Fetch(ctx, logPath)
	return strings.Count("\n"+string(log), "\nrank ") == n, err
}

// ended: mpirun has, and well.
func (w *world) ended(ctx context.Context) (bool, error) {
	var p corev1.Pod
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: launcher}, &p); err != nil {
		return false, err
	}
	if p.Status.Phase == corev1.PodFailed {
		log, _ := w.Fetch(ctx, logPath) // it is said beside the error
		return true, fmt.Errorf("the launcher has failed:\n%s", log)
	}
	return p.Status.Phase == corev1.PodSucceeded, nil
}

// clear takes the pods away.
func (w *world) clear(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, space, nil, "delete", "pods", "--all", "--grace-period=1", "--timeout=100s")
	return err
}

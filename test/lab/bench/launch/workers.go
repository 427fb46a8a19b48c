//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/suite/kube"
)

var selector = client.MatchingLabels{"muster.dev/role": "worker"}

// create makes n workers.
func (w *world) create(ctx context.Context, n int, pid1 []string) error {
	var objects []any
	for i := range n {
		objects = append(objects, workerPod(i, pid1))
	}
	return kube.Apply(ctx, w.ns, objects...)
}

// remove takes all workers away.
func (w *world) remove(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pods", "-l", "muster.dev/role=worker", "--timeout=120s")
	return err
}

// ready follows the workers until n of them are Ready. It gives their addresses, and the moment
// at which it saw the last one.
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
			return nil, at, fmt.Errorf("watch workers: %s is gone", pod.Name)
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

// nsenterAgent is an rsh agent with a table of process ids by host. It runs with the machine's
// process numbers. What it starts has a container's capabilities: with all of them hwloc,
// in each daemon, reads more of the machine's devices than it may in a container.
const nsenterAgent = `read -r pid < /tmp/hosts/"$1"
shift
exec nsenter --target "$pid" --mount --uts --ipc --net --pid -- setpriv --bounding-set ` + capabilities + ` /bin/sh -c "$*"
`

// capabilities are those that containerd gives to a container.
const capabilities = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"

// layFloor writes what the floor's launcher needs: the agent, its table and a hostfile.
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

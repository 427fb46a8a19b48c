//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/kube"
)

// world is the cluster, and what we have made in it.
type world struct {
	*measure.World
	ns        string
	launchers map[string]container // by pod
}

// prepare makes the namespace and the launchers, and puts into them what they need.
func (w *world) prepare(ctx context.Context) error {
	path, err := w.Build(ctx, "bench/launch/inpod")
	if err != nil {
		return err
	}
	inpod, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kubectl, err := os.ReadFile(kube.Path())
	if err != nil {
		return fmt.Errorf("read kubectl: %w", err)
	}
	w.Later("remove namespace", func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "namespace", w.ns, "--ignore-not-found", "--timeout=150s")
		return err
	})
	if err := kube.Open(ctx, w.ns, "muster.dev/bench"); err != nil {
		return err
	}
	keys, err := sshKeys()
	if err != nil {
		return err
	}
	objects := append(rights(), keys)
	pods := []string{kubexecPod, slowPod, sshPod, musterPod, floorPod}
	for _, name := range pods {
		objects = append(objects, launcher(name))
	}
	if err := kube.Apply(ctx, w.ns, objects...); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s"); err != nil {
		return err
	}
	if w.launchers, err = containers(pods); err != nil {
		return err
	}
	for _, c := range w.launchers {
		if err := errors.Join(put(c.path("/bench/inpod"), inpod), put(c.path("/opt/kube/kubectl"), kubectl)); err != nil {
			return err
		}
	}
	return w.slowDNS(ctx)
}

// lookup is how long the slow DNS takes. mpirun looks up each name three times.
const lookup = time.Second / 2 / 3

// slowDNS has the launcher of that name ask a DNS in the floor's.
func (w *world) slowDNS(ctx context.Context) error {
	address, err := kube.Kubectl(ctx, w.ns, nil, "get", "pod", floorPod, "-o", "jsonpath={.status.podIP}")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	server := w.launchers[floorPod].enter(serving, "exec /bench/inpod dns -after "+lookup.String())
	if err := server.Start(); err != nil {
		stop()
		return fmt.Errorf("start DNS: %w", err)
	}
	w.Later("end the DNS", func(context.Context) error {
		stop()
		_ = server.Wait() // the way in; what is inside ends with its pod
		return nil
	})
	path := w.launchers[slowPod].path("/etc/resolv.conf")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^nameserver .*`).ReplaceAll(text, []byte("nameserver "+address))
	return os.WriteFile(path, text, 0o644)
}

// put writes a program.
func put(path string, program []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, program, 0o755)
}

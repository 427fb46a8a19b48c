//go:build linux

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/kube"
)

const noGang = "NoGangScheduler"

// serves is the sentence of a backend whose kind is not served.
func serves(backend string) func(v1alpha1.LaunchJobStatus) bool {
	return func(s v1alpha1.LaunchJobStatus) bool {
		return s.Reason == noGang && strings.Contains(s.Message, "gang.backend is "+backend+", and this cluster serves no ")
	}
}

// absent asks for backends that the cluster does not have.
func absent(ctx context.Context, w *world) error {
	backends := []string{"volcano", "coscheduling", "kueue", "workload"}
	for _, b := range backends {
		if err := w.apply(ctx, "train.yaml", []string{b}, gang(b)); err != nil {
			return err
		}
	}
	said := map[string]string{}
	for _, b := range backends {
		status, err := w.becomes(ctx, b, noGang, 15*time.Second, serves(b))
		if err != nil {
			return err
		}
		said[b] = status.Message
	}
	w.raw["messages"] = said
	w.figure("backends whose kind is not served that say so", len(said), "==", 4, "backends")
	w.see("%s", said["workload"])
	_, err := w.show(ctx, "kubectl get lj", "get", "lj")
	return err
}

// removed takes a backend's kind away under a controller that has known it, and
// brings it back.
func removed(ctx context.Context, w *world) (err error) {
	defer func() { err = errors.Join(err, undefine(context.WithoutCancel(ctx), volcano())) }()
	known := func(s v1alpha1.LaunchJobStatus) bool { return s.Reason != "" && s.Reason != noGang }
	if err := define(ctx, volcano()); err != nil {
		return err
	}
	if err := w.apply(ctx, "train.yaml", []string{"before"}, gang("volcano")); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "before", "waiting for a scheduler", 20*time.Second, known); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "lj", "before", "--cascade=foreground"); err != nil {
		return err
	}
	if err := undefine(ctx, volcano()); err != nil {
		return err
	}
	if err := w.apply(ctx, "train.yaml", []string{"after"}, gang("volcano")); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "after", noGang, 20*time.Second, serves("volcano")); err != nil {
		return err
	}
	if err := define(ctx, volcano()); err != nil {
		return err
	}
	began := time.Now()
	if _, err := w.becomes(ctx, "after", "waiting for a scheduler", time.Minute, known); err != nil {
		return err
	}
	w.figure("seconds until a backend that comes back is used", time.Since(began).Seconds(), "<=", 30, "s")
	w.see("said %s; used %.0f s after it came back", noGang, time.Since(began).Seconds())
	return nil
}

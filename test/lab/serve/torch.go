//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

const torchCreated = "Created=True(PyTorchJobCreated) "

// pytorch tells the life of a PyTorchJob: what training-operator wrote at each stage is
// what is written.
func pytorch(ctx context.Context, w *world) error {
	const object = "pytorchjob/digits"
	if err := errors.Join(w.rights(ctx), w.apply(ctx, "pytorchjob.yaml", "NAME", "digits", "SUSPEND", "true")); err != nil {
		return err
	}
	if err := w.becomes(ctx, object, "Suspended"); err != nil {
		return err
	}
	o, err := w.get(ctx, object)
	if err != nil {
		return err
	}
	pods, err := w.names(ctx, "pods")
	text, err2 := w.shows(ctx, object)
	if err := errors.Join(err, err2, same("pods while suspended", "", pods), same("columns", "NAME STATE|digits Suspended", text),
		same("conditions", torchCreated+"Suspended=True(PyTorchJobSuspended)", conditions(o))); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "patch", object, "--type=merge", "--patch", `{"spec":{"runPolicy":{"suspend":false}}}`); err != nil {
		return err
	}
	if err := w.becomes(ctx, object, "Running"); err != nil {
		return err
	}
	if err := w.looksLikeTheirs(ctx); err != nil {
		return err
	}
	if o, text, err = w.succeeds(ctx, object); err != nil {
		return err
	}
	if err := errors.Join(same("columns", "NAME STATE|digits Succeeded", text), same("counts", `{"Master":{"succeeded":1},"Worker":{"succeeded":2}}`, replicas(o)),
		same("conditions", torchCreated+"Suspended=False(PyTorchJobResumed) Running=False(PyTorchJobRunning) Succeeded=True(PyTorchJobSucceeded)", conditions(o))); err != nil {
		return err
	}
	if err := w.ranks(ctx); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "delete", object); err != nil {
		return err
	}
	w.see("suspended, resumed, succeeded; 3 pods and Services named and labelled as theirs, ranks as theirs; deleted with all that was made of it")
	return eventually(ctx, 30*time.Second, func() error {
		left, err := w.names(ctx, "launchjobs,pods,services")
		return errors.Join(err, same("what is left of it", "", left))
	})
}

// looksLikeTheirs: names and labels of pods and Services.
func (w *world) looksLikeTheirs(ctx context.Context) error {
	const prefix = "training.kubeflow.org/"
	text, err := kube.Kubectl(ctx, w.ns, nil, "get", "pods", "--sort-by=.metadata.name", "-L",
		prefix+"job-name", "-L", prefix+"operator-name", "-L", prefix+"replica-type", "-L", prefix+"replica-index", "-L", prefix+"job-role", "-L", "app", "--no-headers")
	if err != nil {
		return err
	}
	var have []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line) // NAME READY STATUS RESTARTS AGE and the labels
		have = append(have, strings.Join(append(fields[:1], fields[5:]...), " "))
	}
	services, err := w.names(ctx, "services")
	return errors.Join(err,
		same("pods and their labels", "digits-master-0 digits pytorchjob-controller master 0 master trainer|"+
			"digits-worker-0 digits pytorchjob-controller worker 0 trainer|digits-worker-1 digits pytorchjob-controller worker 1 trainer", strings.Join(have, "|")),
		same("services", "digits digits-master-0 digits-worker-0 digits-worker-1", services))
}

// ranks: what the processes were told.
func (w *world) ranks(ctx context.Context) error {
	for rank, pod := range []string{"digits-master-0", "digits-worker-0", "digits-worker-1"} {
		text, err := kube.Kubectl(ctx, w.ns, nil, "logs", pod)
		if err != nil {
			return err
		}
		want := fmt.Sprintf("MASTER_ADDR=digits-master-0 MASTER_PORT=23456 PET_NODE_RANK=%d RANK=%d WORLD_SIZE=3 %s", rank, rank, pod)
		if !strings.Contains(text, want) {
			return fmt.Errorf("%s: want %q, have %q", pod, want, text)
		}
	}
	return nil
}

// rights: what the controller may do to the kinds, and what it may not.
func (w *world) rights(ctx context.Context) error {
	var all error
	for words, want := range map[string]string{
		"get pytorchjobs": "yes", "update pytorchjobs --subresource=status": "yes", "create launchjobs": "yes", "list namespaces": "yes",
		"create pytorchjobs": "no", "update pytorchjobs": "no", "patch pytorchjobs": "no", "deletecollection pytorchjobs": "no",
		"patch launchjobs": "no", "update namespaces": "no", "list secrets": "no",
	} {
		args := append([]string{"auth", "can-i", "--as=system:serviceaccount:" + system + ":muster-controller"}, strings.Fields(words)...)
		have, _ := kube.Kubectl(ctx, w.ns, nil, args...) // a no is an exit code, too
		all = errors.Join(all, same("may it "+words, want, strings.TrimSpace(have)))
	}
	return all
}

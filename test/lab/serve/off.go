//go:build linux

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/musterhq/muster/test/lab/operator"
)

// noneYet: the controller starts on a cluster without the kinds.
func noneYet(context.Context) ([]string, error) { return nil, nil }

// offAndOn: a kind is served from when it is there; a job outlives its being served, and its
// status catches up.
func offAndOn(ctx context.Context, w *world) error {
	const object = "pytorchjob/digits"
	files, err := trainingOperator(ctx)
	if err != nil {
		return err
	}
	if err := operator.Define(ctx, files); err != nil {
		return err
	}
	if err := w.apply(ctx, "pytorchjob.yaml", "NAME", "digits", "SECONDS", "25"); err != nil {
		return err
	}
	if err := w.becomes(ctx, object, "Running"); err != nil {
		return err
	}
	if err := errors.Join(turn(ctx, "off"), w.apply(ctx, "pytorchjob.yaml", "NAME", "later")); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "wait", "--for=condition=Succeeded", "launchjob/digits", "--timeout=100s"); err != nil {
		return err
	}
	o, err := w.get(ctx, object)
	if err != nil {
		return err
	}
	later, err := w.get(ctx, "pytorchjob/later")
	if err := errors.Join(err, same("conditions while off", torchCreated+"Running=True(PyTorchJobRunning)", conditions(o)),
		same("conditions of one that came while off", "", conditions(later))); err != nil {
		return err
	}
	if err := turn(ctx, "on"); err != nil {
		return err
	}
	for _, object := range []string{object, "pytorchjob/later"} {
		if err := w.becomes(ctx, object, "Succeeded"); err != nil {
			return err
		}
	}
	if o, err = w.get(ctx, object); err != nil {
		return err
	}
	w.see("served half a minute after its kind was there; its LaunchJob ended while serving was off, and its status said so when it was on again")
	if text := conditions(o); !strings.HasSuffix(text, "Succeeded=True(PyTorchJobSucceeded)") {
		return same("conditions", "... Succeeded=True(PyTorchJobSucceeded)", text)
	}
	return nil
}

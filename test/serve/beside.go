//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	left  = "MusterServes=False(OwnedByAnotherOperator) "
	ours  = "managedBy: muster.dev/controller"
	there = "suspend: false" // nobody is named
)

// beside: mpi-operator serves all namespaces, and the controller those that are labelled.
func beside(ctx context.Context, w *world) (err error) {
	p, err := w.operate(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.End()) }()

	// The namespace is labelled. An object that names nobody is mpi-operator's, which touches it first;
	// one that names Muster is ours.
	for name, managed := range map[string]string{"stays": there, "moved": ours} {
		if err := w.apply(ctx, "beside.yaml", "NAME", name, "MANAGED", managed); err != nil {
			return err
		}
	}
	theirs, err := w.ends(ctx, "stays", false)
	if err != nil {
		return err
	}
	moved, err := w.ends(ctx, "moved", true)
	if err != nil {
		return err
	}
	w.raw["theirs"], w.raw["ours"] = theirs.Object["status"], moved.Object["status"]
	if err := errors.Join(same("conditions of mpi-operator's", left+mpiEnd, conditions(theirs)), same("conditions", mpiEnd, conditions(moved)),
		same("counts", replicas(theirs), replicas(moved))); err != nil {
		return err
	}
	for _, object := range []string{"mpijob/stays", "mpijob/moved"} {
		text, err := w.shows(ctx, object)
		if err := errors.Join(err, same("columns", "NAME|"+strings.TrimPrefix(object, "mpijob/"), text)); err != nil {
			return err
		}
	}

	// And back: without the label nothing is ours, whatever it says.
	if err := w.kubectl(ctx, "label", "namespace", w.ns, label+"-"); err != nil {
		return err
	}
	for name, managed := range map[string]string{"back": there, "nobodys": ours} {
		if err := w.apply(ctx, "beside.yaml", "NAME", name, "MANAGED", managed); err != nil {
			return err
		}
	}
	back, err := w.ends(ctx, "back", false)
	if err != nil {
		return err
	}
	nobodys, err := w.get(ctx, "mpijob/nobodys")
	jobs, err2 := w.names(ctx, "launchjobs")
	w.see("in a labelled namespace: mpi-operator's object stayed with it, and said so; one that names Muster ran here, its status that of mpi-operator's; without the label mpi-operator's ran untouched")
	return errors.Join(err, err2, same("conditions of what moved back", mpiEnd, conditions(back)), same("conditions of what nobody runs", "", conditions(nobodys)),
		same("LaunchJobs", "moved", jobs))
}

// ends waits for an object's end and says whose it was: mpi-operator makes a batch Job
// of the launcher, and we a LaunchJob. The status of one that is not ours settles a moment later.
func (w *world) ends(ctx context.Context, name string, served bool) (o *unstructured.Unstructured, err error) {
	if err := w.becomes(ctx, "mpijob/"+name, "Succeeded"); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // mpi-operator counts its workers anew after it has taken them away
	if o, err = w.get(ctx, "mpijob/"+name); err != nil {
		return nil, err
	}
	theirs, err := w.names(ctx, "jobs,configmaps", "-l", "app="+name)
	if err != nil {
		return nil, err
	}
	jobs, err := w.names(ctx, "launchjobs")
	if err != nil {
		return nil, err
	}
	have := strings.Contains(" "+jobs+" ", " "+name+" ")
	if have != served || (theirs != "") == served {
		return nil, fmt.Errorf("%s: LaunchJobs %q, mpi-operator's children %q", name, jobs, theirs)
	}
	return o, nil
}

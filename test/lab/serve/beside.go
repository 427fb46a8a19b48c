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
	left = "MusterServes=False(OwnedByAnotherOperator) "
	ours = "managedBy: muster.dev/controller"
)

// story is what becomes of an MPIJob, under mpi-operator and here.
type story struct{ name, command, suspend, end string }

func stories() []story {
	return []story{
		{"good", "sleep 6", "false", "Succeeded"},
		{"bad", "sleep 3; exit 3", "false", "Failed"},
		{"held", "sleep 6", "true", "Succeeded"},
	}
}

// tell applies a story's object; managed names who runs it, or nobody.
func (w *world) tell(ctx context.Context, s story, name, managed string) error {
	return w.apply(ctx, "beside.yaml", "NAME", name, "MANAGED", managed, "SUSPEND", s.suspend, "COMMAND", s.command)
}

// beside: mpi-operator serves all namespaces, and the controller those that are labelled.
func beside(ctx context.Context, w *world) (err error) {
	p, err := w.operate(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.End()) }()

	// The namespace is labelled. An object that names nobody is mpi-operator's, which touches
	// it first; one that names Muster is ours.
	for _, s := range stories() {
		if err := errors.Join(w.tell(ctx, s, s.name, ""), w.tell(ctx, s, s.name+"-moved", ours)); err != nil {
			return err
		}
	}
	for _, s := range stories() {
		if err := w.compare(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return w.back(ctx)
}

// compare holds what is written of a story here to what mpi-operator writes of it.
func (w *world) compare(ctx context.Context, s story) error {
	ends := []string{s.end}
	if s.suspend == "true" {
		ends = []string{"Suspended", s.end}
	}
	for _, end := range ends {
		theirs, err := w.becameOf(ctx, s.name, end, false)
		if err != nil {
			return err
		}
		moved, err := w.becameOf(ctx, s.name+"-moved", end, true)
		if err != nil {
			return err
		}
		w.raw[s.name+" "+end] = []any{theirs.Object["status"], moved.Object["status"]}
		said := strings.ReplaceAll(conditions(theirs), "Exceeded/)", "Exceeded)") // with the slash and without, as it has seen the launcher's pod or not
		if err := errors.Join(same("conditions, mpi-operator's first", said, left+conditions(moved)),
			same("counts, mpi-operator's first", replicas(theirs), replicas(moved))); err != nil {
			return err
		}
		if end != "Suspended" {
			continue
		}
		for _, name := range []string{s.name, s.name + "-moved"} {
			if err := w.kubectl(ctx, "patch", "mpijob", name, "--type=merge", "--patch", `{"spec":{"runPolicy":{"suspend":false}}}`); err != nil {
				return err
			}
		}
	}
	w.see("%s: the status of mpi-operator's, which it kept, and of ours are the same", s.name)
	return nil
}

// back: without the label nothing is ours, whatever it says.
func (w *world) back(ctx context.Context) error {
	if err := w.kubectl(ctx, "label", "namespace", w.ns, label+"-"); err != nil {
		return err
	}
	good := stories()[0]
	if err := errors.Join(w.tell(ctx, good, "back", ""), w.tell(ctx, good, "nobodys", ours)); err != nil {
		return err
	}
	back, err := w.becameOf(ctx, "back", "Succeeded", false)
	if err != nil {
		return err
	}
	nobodys, err := w.get(ctx, "mpijob/nobodys")
	w.see("without the label mpi-operator's ran untouched")
	return errors.Join(err, same("conditions of what moved back", mpiEnd, conditions(back)), same("conditions of what nobody runs", "", conditions(nobodys)))
}

// becameOf waits for a condition of an object and sees whose it is: mpi-operator makes a
// ConfigMap for it, and we a LaunchJob.
func (w *world) becameOf(ctx context.Context, name, condition string, served bool) (o *unstructured.Unstructured, err error) {
	if err := w.becomes(ctx, "mpijob/"+name, condition); err != nil {
		return nil, err
	}
	time.Sleep(3 * time.Second) // mpi-operator counts its workers anew after it has taken them away
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

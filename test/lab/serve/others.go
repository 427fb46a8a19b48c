//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
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

// noKinds: the cluster has none, and could not store this one.
func noKinds(context.Context) ([]string, error) { return nil, nil }

// benchmarks is the MPIJob that mpi-operator's first releases came with, whose version no
// API server stores any more: converted, it runs in an image without the agent, on
// GPUs, and its log gives the number that people ran it for.
func benchmarks(ctx context.Context, w *world) (err error) {
	const job, total = "tensorflow-benchmarks", "221.25"
	if err := kube.GPUs(ctx, gpuNode, gpus); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kube.GPUs(context.WithoutCancel(ctx), gpuNode, 0)) }()
	old, err := testdata.ReadFile("testdata/benchmarks.yaml")
	if err != nil {
		return err
	}
	launcher := filepath.Join(w.bin, "agent-launcher")
	made, err := kube.Program(ctx, old, launcher, "convert", "-f", "-")
	if err != nil {
		return err
	}
	w.raw["converted"] = made
	if _, err := kube.Kubectl(ctx, w.ns, []byte(made), "apply", "-f", "-"); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "wait", "--for=condition=Succeeded", "launchjob/"+job, "--timeout=150s"); err != nil {
		return err
	}
	log, err := kube.Kubectl(ctx, w.ns, nil, "logs", job+"-launcher")
	if err != nil {
		return err
	}
	w.raw["log"] = log
	want := fmt.Sprintf(`ranks on [('%s-worker-0', 'INFO'), ('%s-worker-1', 'INFO')]`, job, job)
	if !strings.Contains(log, want) {
		return fmt.Errorf("want %q, have:\n%s", want, log)
	}
	found, err := kube.Program(ctx, []byte(log), launcher, "metrics", "--metric", "total images/sec", "--metric", "images/sec", "-")
	if err != nil {
		return err
	}
	w.raw["metrics"] = found
	if !regexp.MustCompile(`(?m)^total images/sec\s+` + regexp.QuoteMeta(total) + `\b`).MatchString(found) {
		return fmt.Errorf("want total images/sec %s, have:\n%s", total, found)
	}
	w.see("an image without the agent, 2 workers with a GPU each; total images/sec %s", total)
	return nil
}

// gpuNode has the GPUs, and so many.
const (
	gpuNode = "node1"
	gpus    = 2
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

// sdk runs test/lab/serve/testdata/sdk.py in a pod, as a notebook of theirs would: with kubeflow-training
// from PyPI, and an account that may touch Kubeflow's kinds and nothing of ours.
func sdk(ctx context.Context, w *world) error {
	venv, err := program.Venv(ctx, "kubeflow")
	if err != nil {
		return err
	}
	torch, err := program.Venv(ctx, "torch")
	if err != nil {
		return err
	}
	files, err := kube.Files("files", map[string]string{"sdk.py": "test/lab/serve/testdata/sdk.py"})
	if err != nil {
		return err
	}
	const account = "notebook"
	objects := append(kube.Bound(account,
		rbacv1.PolicyRule{APIGroups: []string{"kubeflow.org"}, Resources: []string{"pytorchjobs", "tfjobs", "mpijobs"}, Verbs: []string{"create", "get", "list", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}}),
		files, kube.Python("notebook", account, venv, files.Name, "/files/sdk.py", torch, "localhost/muster-frameworks:dev", "localhost/muster-openmpi:dev"))
	if err := kube.Apply(ctx, w.ns, objects...); err != nil {
		return err
	}
	err = w.kubectl(ctx, "wait", "--for=jsonpath={.status.containerStatuses[0].state.terminated}", "pod/notebook", "--timeout=280s")
	log, lerr := kube.Kubectl(context.WithoutCancel(ctx), w.ns, nil, "logs", "notebook")
	if err := errors.Join(err, lerr); err != nil {
		return fmt.Errorf("%w\n%s", err, log)
	}
	w.raw["log"] = strings.Split(log, "\n")
	if !strings.HasSuffix(log, "sdk ok\n") {
		return fmt.Errorf("the SDK met something else than under Kubeflow's operator:\n%s", log)
	}
	w.see("create_job, wait_for_job_conditions, get_job_pod_names, get_job_logs, delete_job: %s", strings.ReplaceAll(strings.TrimSpace(log), "\n", "; "))
	return nil
}

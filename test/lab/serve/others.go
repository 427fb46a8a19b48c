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

// story is an MPIJob and its expected end, under mpi-operator and under Muster.
type story struct{ name, command, suspend, end string }

func stories() []story {
	return []story{
		{"good", "sleep 6", "false", "Succeeded"},
		{"bad", "sleep 3; exit 3", "false", "Failed"},
		{"held", "sleep 6", "true", "Succeeded"},
	}
}

// tell applies a story's object; managed is its managedBy line, or "".
func (w *world) tell(ctx context.Context, s story, name, managed string) error {
	return w.apply(ctx, "beside.yaml", "NAME", name, "MANAGED", managed, "SUSPEND", s.suspend, "COMMAND", s.command)
}

// beside runs mpi-operator for all namespaces, and the controller for labeled ones.
func beside(ctx context.Context, w *world) (err error) {
	p, err := w.operate(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.End()) }()

	// The namespace is labeled. An object without managedBy belongs to mpi-operator, which updates
	// it first. An object that names Muster belongs to our controller.
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

// compare checks that our controller writes the same status for a story as mpi-operator.
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
		said := strings.ReplaceAll(conditions(theirs), "Exceeded/)", "Exceeded)") // mpi-operator writes the slash unless it has seen the launcher's pod
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
	w.see("%s: mpi-operator kept its object, and both objects have the same status", s.name)
	return nil
}

// back checks that without the label no object belongs to our controller, not even one that names it.
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
	w.see("without the label mpi-operator's object ran, and Muster's stayed unchanged")
	return errors.Join(err, same("conditions of the object that moved back", mpiEnd, conditions(back)), same("conditions of the object that no operator runs", "", conditions(nobodys)))
}

// becameOf waits for a condition of an object, and checks which operator runs it: mpi-operator creates a
// ConfigMap for it, and Muster a LaunchJob.
func (w *world) becameOf(ctx context.Context, name, condition string, served bool) (o *unstructured.Unstructured, err error) {
	if err := w.becomes(ctx, "mpijob/"+name, condition); err != nil {
		return nil, err
	}
	time.Sleep(3 * time.Second) // mpi-operator counts its workers again after it has deleted them
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

// noKinds returns no CRD, because no current API server could store this version.
func noKinds(context.Context) ([]string, error) { return nil, nil }

// benchmarks converts the example MPIJob of mpi-operator's first releases, whose version no current
// API server can store. The LaunchJob runs in an image without the agent, on
// GPUs, and its log has the benchmark's result.
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

// gpuNode has this number of GPUs.
const (
	gpuNode = "node1"
	gpus    = 2
)

// noneYet returns no CRD: the controller starts on a cluster without the kinds.
func noneYet(context.Context) ([]string, error) { return nil, nil }

// offAndOn checks that a kind is served as soon as it exists. A job must continue while serving is off, and its
// status must be updated when serving is on again.
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
		same("conditions of a job that was created while off", "", conditions(later))); err != nil {
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
	w.see("served half a minute after its kind was created; its LaunchJob ended while serving was off, and its status was updated when serving was on again")
	if text := conditions(o); !strings.HasSuffix(text, "Succeeded=True(PyTorchJobSucceeded)") {
		return same("conditions", "... Succeeded=True(PyTorchJobSucceeded)", text)
	}
	return nil
}

// sdk runs test/lab/serve/testdata/sdk.py in a pod, like a Kubeflow notebook: with kubeflow-training
// from PyPI, and an account with rights on Kubeflow's kinds only.
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
		return fmt.Errorf("the SDK got a different result than under Kubeflow's operator:\n%s", log)
	}
	w.see("create_job, wait_for_job_conditions, get_job_pod_names, get_job_logs, delete_job: %s", strings.ReplaceAll(strings.TrimSpace(log), "\n", "; "))
	return nil
}

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

const torchCreated = "Created=True(PyTorchJobCreated) "

// pytorch runs a PyTorchJob from suspension to deletion, and checks that its status is the one
// that training-operator writes at each stage.
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
	w.see("suspended, resumed, succeeded; 3 pods and Services with training-operator's names and labels, ranks as under training-operator; deleted with all of its objects")
	return eventually(ctx, 30*time.Second, func() error {
		left, err := w.names(ctx, "launchjobs,pods,services")
		return errors.Join(err, same("objects left", "", left))
	})
}

// looksLikeTheirs checks the names and labels of pods and Services.
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

// ranks checks the variables of the processes.
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

// rights checks what the controller may do with the kinds, and what it may not do.
func (w *world) rights(ctx context.Context) error {
	var all error
	for words, want := range map[string]string{
		"get pytorchjobs": "yes", "update pytorchjobs --subresource=status": "yes", "create launchjobs": "yes", "list namespaces": "yes",
		"create pytorchjobs": "no", "update pytorchjobs": "no", "patch pytorchjobs": "no", "deletecollection pytorchjobs": "no",
		"patch launchjobs": "no", "update namespaces": "no", "list secrets": "no",
	} {
		args := append([]string{"auth", "can-i", "--as=system:serviceaccount:" + system + ":muster-controller"}, strings.Fields(words)...)
		have, _ := kube.Kubectl(ctx, w.ns, nil, args...) // the answer no has an exit code, too
		all = errors.Join(all, same("may it "+words, want, strings.TrimSpace(have)))
	}
	return all
}

// tensorflow runs a TFJob whose PS waits forever, under Volcano's scheduler. The job ends when its Chief does.
func tensorflow(ctx context.Context, w *world) (err error) {
	stop, err := w.volcano(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	const object = "tfjob/mnist"
	if err := w.apply(ctx, "tfjob.yaml", "NAME", "mnist"); err != nil {
		return err
	}
	o, text, err := w.succeeds(ctx, object)
	if err != nil {
		return err
	}
	pods, err2 := kube.Kubectl(ctx, w.ns, nil, "get", "pods", "--sort-by=.metadata.name", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.spec.schedulerName} {.metadata.annotations.scheduling\.k8s\.io/group-name} {.metadata.labels.training\.kubeflow\.org/replica-type}|{end}`)
	least, err3 := kube.Kubectl(ctx, w.ns, nil, "get", "podgroups.scheduling.volcano.sh", "mnist", "-o", "jsonpath={.spec.minMember} {.spec.queue}")
	if err := errors.Join(err, err2, err3, same("columns", "NAME STATE|mnist Succeeded", text),
		same("conditions", "Created=True(TFJobCreated) Running=False(TFJobRunning) Succeeded=True(TFJobSucceeded)", conditions(o)),
		same("counts", `{"Chief":{"succeeded":1},"PS":{"succeeded":1},"Worker":{"succeeded":1}}`, replicas(o)),
		same("pods", "mnist-chief-0 volcano mnist chief|mnist-ps-0 volcano mnist ps|mnist-worker-0 volcano mnist worker|", pods),
		same("the gang", "3 default", least)); err != nil {
		return err
	}
	w.see("PS, Chief and Worker started as one gang under Volcano; TF_CONFIG, conditions, counts and columns of training-operator; the waiting PS did not delay the end")
	return w.clusterOf(ctx)
}

// clusterOf checks that TF_CONFIG has the hosts that training-operator would set.
func (w *world) clusterOf(ctx context.Context) error {
	text, err := kube.Kubectl(ctx, w.ns, nil, "logs", "mnist-chief-0")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		_, config, found := strings.Cut(line, "{")
		if !found {
			continue
		}
		var have struct {
			Cluster map[string][]string
			Task    struct {
				Type  string
				Index int
			}
		}
		if err := json.Unmarshal([]byte("{"+strings.TrimSpace(config)), &have); err != nil {
			return fmt.Errorf("read TF_CONFIG of %q: %w", line, err)
		}
		host := func(role string) string { return "mnist-" + role + "-0." + w.ns + ".svc:2222" }
		want := fmt.Sprint(map[string][]string{"chief": {host("chief")}, "ps": {host("ps")}, "worker": {host("worker")}}, " {chief 0}")
		return same("TF_CONFIG", want, fmt.Sprint(have.Cluster, " ", have.Task))
	}
	return fmt.Errorf("the chief has no TF_CONFIG: %s", text)
}

// volcano returns the program in the version that test/lab/gang pins.
func volcano() program.Module {
	return program.Module{Dir: "test/lab/gang/volcano", Path: "volcano.sh/volcano", Name: "volcano", Commands: []string{"cmd/scheduler", "cmd/controller-manager"}}
}

// volcano applies Volcano's custom resources and starts its scheduler and controllers; stop removes them.
func (w *world) volcano(ctx context.Context) (stop func() error, err error) {
	bin, err := volcano().Build(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := volcano().Source(ctx)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "volcano", "bases", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var running []*program.Process
	stop = func() (err error) {
		for _, p := range running {
			err = errors.Join(err, p.Died())
		}
		for _, f := range files { // first, because the running programs may have finalizers to remove
			err = errors.Join(err, w.kubectl(context.WithoutCancel(ctx), "delete", "--ignore-not-found", "--wait=false", "-f", f))
		}
		for _, p := range running {
			_ = p.End() // Died has reported programs that ended by themselves
		}
		return err
	}
	if err := operator.Define(ctx, files); err != nil {
		return stop, errors.Join(err, stop())
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	for name, args := range map[string][]string{
		"scheduler":          {"--cache-dumper=false", "--scheduler-conf", "test/lab/gang/testdata/volcano.yaml"},
		"controller-manager": nil,
	} {
		p, err := program.Start(filepath.Join(w.out, "raw", "serve-volcano-"+name+".log"), []string{"GOMAXPROCS=2"},
			append([]string{filepath.Join(bin, name), "--kubeconfig", kubeconfig, "--leader-elect=false"}, args...)...)
		if err != nil {
			return stop, errors.Join(err, stop())
		}
		running = append(running, p)
	}
	return stop, nil
}

const mpiEnd = "Created=True(MPIJobCreated) Running=False(MPIJobRunning) Succeeded=True(MPIJobSucceeded)"

// mpiV1 runs an MPIJob whose mpirun would use kubectl exec under its own operator.
func mpiV1(ctx context.Context, w *world) error {
	if err := w.mpi(ctx, "mpijob-v1.yaml", "NAME STATE|tensorflow-benchmarks Succeeded", `{"Launcher":{"succeeded":1},"Worker":{"succeeded":2}}`); err != nil {
		return err
	}
	w.see("mpirun's ranks ran on both workers; conditions, counts and columns of training-operator")
	return nil
}

// mpiV2 runs an MPIJob whose mpirun would use ssh under its own operator, without changes.
func mpiV2(ctx context.Context, w *world) error {
	if err := w.mpi(ctx, "mpijob-v2beta1.yaml", "NAME|tensorflow-benchmarks", `{"Launcher":{"succeeded":1},"Worker":{}}`); err != nil {
		return err
	}
	w.see("no sshd ran, mpirun's ranks ran on both workers; conditions, counts and columns of mpi-operator")
	return nil
}

// mpi runs tensorflow-benchmarks, in an image without the agent, on GPUs.
func (w *world) mpi(ctx context.Context, file, columns, counts string) (err error) {
	const name, object = "tensorflow-benchmarks", "mpijob/tensorflow-benchmarks"
	if err := kube.GPUs(ctx, gpuNode, gpus); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kube.GPUs(context.WithoutCancel(ctx), gpuNode, 0)) }()
	if err := w.apply(ctx, file, "NAME", name); err != nil {
		return err
	}
	o, text, err := w.succeeds(ctx, object)
	if err != nil {
		return err
	}
	said, err2 := kube.Kubectl(ctx, w.ns, nil, "logs", name+"-launcher")
	for _, want := range []string{"ranks on [('" + name + "-worker-0', 'INFO'), ('" + name + "-worker-1', 'INFO')]", "total images/sec: 221.25"} {
		if !strings.Contains(said, want) {
			err = errors.Join(err, fmt.Errorf("want %q, have:\n%s", want, said))
		}
	}
	// Under either operator, a job that ends before its pods were observed running was never Running.
	ran := strings.Replace(conditions(o), "Running=False(MPIJobRunning) ", "", 1)
	return errors.Join(err, err2, same("columns", columns, text), same("counts", counts, replicas(o)),
		same("conditions", strings.Replace(mpiEnd, "Running=False(MPIJobRunning) ", "", 1), ran))
}

// dryRun checks that the controller only prints.
func dryRun(ctx context.Context, w *world) error {
	if err := w.apply(ctx, "pytorchjob.yaml", "NAME", "digits"); err != nil {
		return err
	}
	before, err := w.get(ctx, "pytorchjob/digits")
	if err != nil {
		return err
	}
	err = eventually(ctx, 60*time.Second, func() error {
		text, err := kube.Kubectl(ctx, system, nil, "logs", "-l", "app.kubernetes.io/name=muster-controller", "-c", "controller", "--tail=-1")
		if err == nil && !strings.Contains(text, "# dry run: PyTorchJob "+w.ns+"/digits would become this\n") {
			err = fmt.Errorf("the LaunchJob was not printed: %s", text)
		}
		return err
	})
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // there is no event to wait for if nothing may happen
	after, err := w.get(ctx, "pytorchjob/digits")
	if err != nil {
		return err
	}
	left, err := w.names(ctx, "launchjobs,pods,services,events")
	w.see("a LaunchJob was printed; no object, no event, and not one write to the PyTorchJob")
	return errors.Join(err, same("resource version", before.GetResourceVersion(), after.GetResourceVersion()), same("objects created", "", left))
}

// Statuses is the oracle of agent/serve's conditions. It passes the number of running, succeeded and failed pods
// of a job to training-operator v1.8.1's own code, and writes the resulting
// conditions to a JSON file. It needs no cluster.
//
//	go -C test/lab/kubeflow run ./statuses -out ../../../agent/serve/testdata/operator.json
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	mpicontroller "github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	mxcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/mxnet"
	paddlecontroller "github.com/kubeflow/training-operator/pkg/controller.v1/paddlepaddle"
	torchcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	tfcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	xgbcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

type (
	counts   = map[operator.ReplicaType]operator.ReplicaStatus
	replicas = map[operator.ReplicaType]*operator.ReplicaSpec
)

// life is a job, and the states of its pods, step by step.
type life struct {
	Name      string `json:"name"`
	container string
	Kind      string                         `json:"kind"`
	Replicas  map[operator.ReplicaType]int32 `json:"replicas"`
	Restart   operator.RestartPolicy         `json:"restart"`
	Steps     []step                         `json:"steps"`
}

type step struct {
	Counts     counts                  `json:"counts"`
	Conditions []operator.JobCondition `json:"conditions"` // the operator's conditions after the step, without times
	Ended      bool                    `json:"ended"`      // the operator has set the completion time
}

type updater interface {
	UpdateJobStatus(job any, specs map[operator.ReplicaType]*operator.ReplicaSpec, status *operator.JobStatus) error
}

// world replaces the manager, because the operator's own manager needs a cluster.
type world struct {
	manager.Manager
	client client.Client
}

func (w world) GetClient() client.Client                        { return w.client }
func (w world) GetAPIReader() client.Reader                     { return w.client }
func (w world) GetScheme() *runtime.Scheme                      { return w.client.Scheme() }
func (w world) GetConfig() *rest.Config                         { return &rest.Config{Host: "nowhere.invalid"} }
func (w world) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

func main() {
	out := flag.String("out", "", "write `FILE`")
	flag.Parse()
	logrus.SetOutput(io.Discard)
	if err := run(*out); err != nil {
		log.Fatalf("statuses: %v", err)
	}
}

func run(out string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{operator.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("create scheme: %w", err)
		}
	}
	w := world{client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	all := lives()
	for i := range all {
		if err := live(w, &all[i]); err != nil {
			return fmt.Errorf("%s: %w", all[i].Name, err)
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err == nil {
		err = os.WriteFile(out, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write lives: %w", err)
	}
	return nil
}

// live stores the operator's conditions after each step, on top of the previous step.
func live(w world, l *life) error {
	job, specs, r, err := build(w, *l)
	if err != nil {
		return err
	}
	w.GetScheme().Default(job)
	var status operator.JobStatus
	for i := range l.Steps {
		s := &l.Steps[i]
		status.ReplicaStatuses = map[operator.ReplicaType]*operator.ReplicaStatus{}
		for name := range specs {
			c := s.Counts[name]
			status.ReplicaStatuses[name] = &c
		}
		if err := r.UpdateJobStatus(job, specs, &status); err != nil {
			return err
		}
		for _, c := range status.Conditions {
			c.LastUpdateTime, c.LastTransitionTime = metav1.Time{}, metav1.Time{}
			s.Conditions = append(s.Conditions, c)
		}
		s.Ended = status.CompletionTime != nil
	}
	return nil
}

// build creates the job's object and its controller. The map belongs to the object.
func build(w world, l life) (runtime.Object, replicas, updater, error) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: l.container}}}} // the defaults look for this container
	meta, specs := metav1.ObjectMeta{Name: "pi", Namespace: "hpc"}, replicas{}
	for name, n := range l.Replicas {
		specs[name] = &operator.ReplicaSpec{Replicas: &n, RestartPolicy: l.Restart, Template: template}
	}
	gang := common.GenNonGangSchedulerSetupFunc()
	switch l.Kind {
	case "PyTorchJob":
		return &operator.PyTorchJob{ObjectMeta: meta, Spec: operator.PyTorchJobSpec{PyTorchReplicaSpecs: specs}}, specs, torchcontroller.NewReconciler(w, gang), nil
	case "TFJob":
		return &operator.TFJob{ObjectMeta: meta, Spec: operator.TFJobSpec{TFReplicaSpecs: specs}}, specs, tfcontroller.NewReconciler(w, gang), nil
	case "XGBoostJob":
		return &operator.XGBoostJob{ObjectMeta: meta, Spec: operator.XGBoostJobSpec{XGBReplicaSpecs: specs}}, specs, xgbcontroller.NewReconciler(w, gang), nil
	case "PaddleJob":
		return &operator.PaddleJob{ObjectMeta: meta, Spec: operator.PaddleJobSpec{PaddleReplicaSpecs: specs}}, specs, paddlecontroller.NewReconciler(w, gang), nil
	case "MXJob":
		return &operator.MXJob{ObjectMeta: meta, Spec: operator.MXJobSpec{MXReplicaSpecs: specs}}, specs, mxcontroller.NewReconciler(w, gang), nil
	case "MPIJob":
		return &operator.MPIJob{ObjectMeta: meta, Spec: operator.MPIJobSpec{MPIReplicaSpecs: specs}}, specs, mpicontroller.NewReconciler(w, gang), nil
	}
	return nil, nil, nil, fmt.Errorf("%q is not a kind of this operator", l.Kind)
}

// lives returns the lives of jobs of each kind. All jobs end: either the deciding pods succeed, or a pod
// fails and is not restarted. Jobs whose pods are restarted are left out, because whether
// Running or Restarting remains depends on the order of a map in that operator.
func lives() (all []life) {
	type jobs struct {
		name, kind, container string
		types                 []operator.ReplicaType // the first one decides
	}
	for _, j := range []jobs{
		{"pytorchjob", "PyTorchJob", operator.PyTorchJobDefaultContainerName, []operator.ReplicaType{"Master", "Worker"}},
		{"pytorchjob-workers", "PyTorchJob", operator.PyTorchJobDefaultContainerName, []operator.ReplicaType{"Worker"}},
		{"tfjob", "TFJob", operator.TFJobDefaultContainerName, []operator.ReplicaType{"Chief", "PS", "Worker"}},
		{"tfjob-workers", "TFJob", operator.TFJobDefaultContainerName, []operator.ReplicaType{"Worker"}},
		{"xgboostjob", "XGBoostJob", operator.XGBoostJobDefaultContainerName, []operator.ReplicaType{"Master", "Worker"}},
		{"paddlejob-master", "PaddleJob", operator.PaddleJobDefaultContainerName, []operator.ReplicaType{"Master", "Worker"}},
		{"paddlejob", "PaddleJob", operator.PaddleJobDefaultContainerName, []operator.ReplicaType{"Worker"}},
		{"mxjob", "MXJob", operator.MXJobDefaultContainerName, []operator.ReplicaType{"Scheduler", "Server", "Worker"}},
		{"mpijob", "MPIJob", operator.MPIJobDefaultContainerName, []operator.ReplicaType{"Launcher", "Worker"}},
	} {
		specs, waits, runs, ends := map[operator.ReplicaType]int32{}, counts{}, counts{}, counts{}
		for _, name := range j.types {
			specs[name] = 1
			waits[name], runs[name], ends[name] = operator.ReplicaStatus{}, operator.ReplicaStatus{Active: 1}, operator.ReplicaStatus{Active: 1}
		}
		ends[j.types[0]] = operator.ReplicaStatus{Succeeded: 1}
		fails := counts{}
		for name, c := range runs {
			fails[name] = c
		}
		fails[j.types[len(j.types)-1]] = operator.ReplicaStatus{Failed: 1}
		all = append(all,
			life{Name: j.name + "-succeeds", Kind: j.kind, container: j.container, Replicas: specs, Restart: operator.RestartPolicyNever, Steps: []step{{Counts: waits}, {Counts: runs}, {Counts: ends}}},
			life{Name: j.name + "-fails", Kind: j.kind, container: j.container, Replicas: specs, Restart: operator.RestartPolicyNever, Steps: []step{{Counts: waits}, {Counts: runs}, {Counts: fails}}},
			life{Name: j.name + "-ends-unseen", Kind: j.kind, container: j.container, Replicas: specs, Restart: operator.RestartPolicyNever, Steps: []step{{Counts: ends}}})
	}
	return all
}

// Kubeflow is the oracle of `agent run --compat=kubeflow-v1`. It creates jobs of
// every kind, lets training-operator v1.8.1 set its defaults and the environment
// of each pod, and writes the result to golden files, which agent/framework
// must reproduce. It needs no cluster.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	mxcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/mxnet"
	paddlecontroller "github.com/kubeflow/training-operator/pkg/controller.v1/paddlepaddle"
	torchcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	tfcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	xgbcontroller "github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	mxwebhook "github.com/kubeflow/training-operator/pkg/webhooks/mxnet"
	paddlewebhook "github.com/kubeflow/training-operator/pkg/webhooks/paddlepaddle"
	torchwebhook "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	tfwebhook "github.com/kubeflow/training-operator/pkg/webhooks/tensorflow"
	xgbwebhook "github.com/kubeflow/training-operator/pkg/webhooks/xgboost"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	client "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/musterhq/muster/test/lab/kubeflow/golden"
)

func main() {
	logrus.SetOutput(io.Discard)
	scheme := runtime.NewScheme()
	if err := operator.AddToScheme(scheme); err != nil {
		log.Fatalf("kubeflow: create scheme: %v", err)
	}
	golden.Main("kubeflow", cases(), func(c *golden.Case) error { return fill(scheme, c) })
}

type replicas = map[operator.ReplicaType]*operator.ReplicaSpec

// reconciler is the part of the operator's controllers that sets a pod's environment.
type reconciler interface {
	SetClusterSpec(job any, template *corev1.PodTemplateSpec, rtype, index string) error
}

// fill runs the case through the operator's code: admission, defaults, and the
// environment of each pod.
func fill(scheme *runtime.Scheme, c *golden.Case) error {
	if c.Kind == "MPIJob" {
		return fillMPI(scheme, c)
	}
	job, specs, r, webhook, err := build(*c)
	if err != nil {
		return err
	}
	if _, err := webhook.ValidateCreate(context.Background(), job); err != nil {
		c.Refused = err.Error()
		return nil
	}
	scheme.Default(job)
	if err := os.Setenv("CUSTOM_CLUSTER_DOMAIN", c.Spec.ClusterDomain); err != nil {
		return fmt.Errorf("set the operator's cluster domain: %w", err)
	}
	for _, role := range c.Spec.Roles {
		lower := strings.ToLower(role.Name)
		for i := range int(role.Count) {
			template := specs[operator.ReplicaType(role.Name)].Template.DeepCopy()
			index := strconv.Itoa(i)
			if err := r.SetClusterSpec(job, template, lower, index); err != nil {
				return fmt.Errorf("set the cluster of %s %d: %w", lower, i, err)
			}
			containers, err := golden.Containers(template.Spec)
			if err != nil {
				return err
			}
			c.Pods = append(c.Pods, golden.Pod{
				Name: common.GenGeneralName(c.Job, lower, index), Role: lower, Index: i, Containers: containers,
			})
		}
	}
	return nil
}

// build creates the job's object. The returned map belongs to the object.
func build(c golden.Case) (runtime.Object, replicas, reconciler, admission.CustomValidator, error) {
	meta := metav1.ObjectMeta{Name: c.Job, Namespace: c.Namespace}
	switch c.Kind {
	case "PyTorchJob":
		specs := replicasOf(c, operator.PyTorchJobDefaultContainerName)
		spec := operator.PyTorchJobSpec{PyTorchReplicaSpecs: specs, ElasticPolicy: elasticPolicy(c.Spec.Elastic)}
		if c.Spec.NprocPerNode != "" {
			spec.NprocPerNode = &c.Spec.NprocPerNode
		}
		return &operator.PyTorchJob{ObjectMeta: meta, Spec: spec}, specs, &torchcontroller.PyTorchJobReconciler{}, &torchwebhook.Webhook{}, nil
	case "TFJob":
		specs := replicasOf(c, operator.TFJobDefaultContainerName)
		return &operator.TFJob{ObjectMeta: meta, Spec: operator.TFJobSpec{TFReplicaSpecs: specs, EnableDynamicWorker: c.Spec.Sparse}},
			specs, &tfcontroller.TFJobReconciler{}, &tfwebhook.Webhook{}, nil
	case "XGBoostJob":
		specs := replicasOf(c, operator.XGBoostJobDefaultContainerName)
		return &operator.XGBoostJob{ObjectMeta: meta, Spec: operator.XGBoostJobSpec{XGBReplicaSpecs: specs}},
			specs, &xgbcontroller.XGBoostJobReconciler{}, &xgbwebhook.Webhook{}, nil
	case "PaddleJob":
		specs := replicasOf(c, operator.PaddleJobDefaultContainerName)
		return &operator.PaddleJob{ObjectMeta: meta, Spec: operator.PaddleJobSpec{PaddleReplicaSpecs: specs}},
			specs, &paddlecontroller.PaddleJobReconciler{}, &paddlewebhook.Webhook{}, nil
	case "MXJob":
		specs := replicasOf(c, operator.MXJobDefaultContainerName)
		return &operator.MXJob{ObjectMeta: meta, Spec: operator.MXJobSpec{JobMode: operator.MXTrain, MXReplicaSpecs: specs}},
			specs, &mxcontroller.MXJobReconciler{}, &mxwebhook.Webhook{}, nil
	}
	return nil, nil, nil, nil, fmt.Errorf("%q is not a kind of this operator", c.Kind)
}

func replicasOf(c golden.Case, container string) replicas {
	specs := replicas{}
	for _, role := range c.Spec.Roles {
		specs[operator.ReplicaType(role.Name)] = &operator.ReplicaSpec{Replicas: &role.Count, Template: c.Template(container)}
	}
	return specs
}

func elasticPolicy(e *golden.Elastic) *operator.ElasticPolicy {
	if e == nil {
		return nil
	}
	policy := &operator.ElasticPolicy{MinReplicas: e.Min, MaxReplicas: e.Max, NProcPerNode: e.NprocPerNode, MaxRestarts: e.MaxRestarts}
	if e.Backend != "" {
		backend := operator.RDZVBackend(e.Backend)
		policy.RDZVBackend = &backend
	}
	if e.Host != "" {
		policy.RDZVHost = &e.Host
	}
	if e.Port != 0 {
		policy.RDZVPort = &e.Port
	}
	if e.ID != "" {
		policy.RDZVID = &e.ID
	}
	if e.Standalone {
		policy.Standalone = &e.Standalone
	}
	for _, pair := range e.Conf {
		policy.RDZVConf = append(policy.RDZVConf, operator.RDZVConf{Key: pair[0], Value: pair[1]})
	}
	return policy
}

// fillMPI lets the operator create the pods of an MPIJob in an API server in
// memory. The MPIJob's SetClusterSpec does nothing; the operator sets the launcher's environment when
// it creates the pod.
func fillMPI(scheme *runtime.Scheme, c *golden.Case) error {
	job := mpiJob(*c)
	if err := operator.ValidateV1MpiJobSpec(&job.Spec); err != nil {
		c.Refused = err.Error()
		return nil
	}
	scheme.Default(job)
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return fmt.Errorf("extend scheme: %w", err)
	}
	server := clientgo.NewSimpleClientset()
	r := &mpi.MPIJobReconciler{
		Client: client.NewClientBuilder().WithScheme(scheme).Build(),
		Scheme: scheme,
		JobController: common.JobController{
			KubeClientSet: server,
			Recorder:      &record.FakeRecorder{},
		},
	}
	r.Controller = r
	specs := job.Spec.MPIReplicaSpecs
	launcher := operator.MPIJobReplicaTypeLauncher
	if err := r.ReconcilePods(job, &operator.JobStatus{}, nil, launcher, specs[launcher], specs); err != nil {
		return fmt.Errorf("reconcile pods: %w", err)
	}
	for _, role := range c.Spec.Roles {
		lower := strings.ToLower(role.Name)
		for i := range int(role.Count) {
			name := c.Job + "-" + lower
			if role.Name != string(launcher) {
				name += "-" + strconv.Itoa(i)
			}
			pod, err := server.CoreV1().Pods(c.Namespace).Get(context.Background(), name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("get pod: %w", err)
			}
			containers, err := golden.Containers(pod.Spec)
			if err != nil {
				return err
			}
			c.Pods = append(c.Pods, golden.Pod{Name: name, Role: lower, Index: i, Containers: containers})
		}
	}
	return nil
}

func mpiJob(c golden.Case) *operator.MPIJob {
	specs := replicasOf(c, operator.MPIJobDefaultContainerName)
	if c.Spec.GPULauncher {
		container := &specs[operator.MPIJobReplicaTypeLauncher].Template.Spec.Containers[0]
		container.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	}
	return &operator.MPIJob{
		ObjectMeta: metav1.ObjectMeta{Name: c.Job, Namespace: c.Namespace, UID: "1"},
		Spec:       operator.MPIJobSpec{MPIReplicaSpecs: specs, SlotsPerWorker: &c.Spec.SlotsPerWorker},
	}
}

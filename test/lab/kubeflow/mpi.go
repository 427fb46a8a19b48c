package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	client "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/musterhq/muster/test/lab/kubeflow/golden"
)

// fillMPI has the operator make the pods of an MPIJob against an API server in
// memory: its SetClusterSpec does nothing, the launcher's environment is made
// where the pod is.
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

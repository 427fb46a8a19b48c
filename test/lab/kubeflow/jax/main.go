// Jax writes the golden files of JAXJob, which training-operator has since v1.9.
// The folder above has all other kinds, with v1.8.1.
package main

import (
	"context"
	"fmt"
	"log"
	"strconv"

	operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	controller "github.com/kubeflow/training-operator/pkg/controller.v1/jax"
	webhook "github.com/kubeflow/training-operator/pkg/webhooks/jax"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/musterhq/muster/test/lab/kubeflow/golden"
)

func main() {
	all := []golden.Case{job("jax-sidecar", 2, true)}
	for workers := int32(1); workers <= 3; workers++ {
		all = append(all, job(fmt.Sprintf("jax-w%d", workers), workers, false))
	}
	scheme := runtime.NewScheme()
	if err := operator.AddToScheme(scheme); err != nil {
		log.Fatalf("kubeflow/jax: create scheme: %v", err)
	}
	golden.Main("kubeflow/jax", all, func(c *golden.Case) error { return fill(scheme, c) })
}

func job(name string, workers int32, sidecar bool) golden.Case {
	return golden.Case{
		Name: name, Source: "training-operator v1.9.3", Kind: "JAXJob", Job: "train", Namespace: "team-a",
		Spec: golden.Spec{Sidecar: sidecar, Roles: []golden.Role{{Name: "Worker", Count: workers}}},
	}
}

// fill runs the case through the operator's admission, defaults and environment.
func fill(scheme *runtime.Scheme, c *golden.Case) error {
	const role = operator.JAXJobReplicaTypeWorker
	count := c.Spec.Roles[0].Count
	object := &operator.JAXJob{
		ObjectMeta: metav1.ObjectMeta{Name: c.Job, Namespace: c.Namespace},
		Spec: operator.JAXJobSpec{JAXReplicaSpecs: map[operator.ReplicaType]*operator.ReplicaSpec{
			role: {Replicas: &count, Template: c.Template(operator.JAXJobDefaultContainerName)},
		}},
	}
	if _, err := (&webhook.Webhook{}).ValidateCreate(context.Background(), object); err != nil {
		c.Refused = err.Error()
		return nil
	}
	scheme.Default(object)
	for i := range int(count) {
		index := strconv.Itoa(i)
		template := object.Spec.JAXReplicaSpecs[role].Template.DeepCopy()
		if err := (&controller.JAXJobReconciler{}).SetClusterSpec(object, template, "worker", index); err != nil {
			return fmt.Errorf("set the cluster of worker %d: %w", i, err)
		}
		containers, err := golden.Containers(template.Spec)
		if err != nil {
			return err
		}
		c.Pods = append(c.Pods, golden.Pod{
			Name: common.GenGeneralName(c.Job, "worker", index), Role: "worker", Index: i, Containers: containers,
		})
	}
	return nil
}

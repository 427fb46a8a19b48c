// Kubeflow is the oracle of `agent run --compat=kubeflow-v1`: it builds jobs of
// every kind, has training-operator v1.8.1 set its defaults and the environment
// of each pod, and writes what it gave to golden files, which agent/framework
// must reproduce. It needs no cluster.
package main

import (
	"io"
	"log"

	operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/musterhq/muster/test/lab/kubeflow/golden"
)

func main() {
	logrus.SetOutput(io.Discard)
	scheme := runtime.NewScheme()
	if err := operator.AddToScheme(scheme); err != nil {
		log.Fatalf("kubeflow: make scheme: %v", err)
	}
	golden.Main("kubeflow", cases(), func(c *golden.Case) error { return fill(scheme, c) })
}

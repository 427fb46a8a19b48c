// Kubeflow is the oracle of `agent run --compat=kubeflow-v1`: it builds jobs of
// every kind, has training-operator v1.8.1 set its defaults and the environment
// of each pod, and writes what it gave to golden files, which agent/framework
// must reproduce. It needs no cluster.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/musterhq/muster/test/kubeflow/golden"
)

func main() {
	out := flag.String("out", "", "`DIR` to write the golden files to")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	logrus.SetOutput(io.Discard)
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "kubeflow:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	scheme := runtime.NewScheme()
	if err := operator.AddToScheme(scheme); err != nil {
		return fmt.Errorf("make scheme: %w", err)
	}
	all := cases()
	for i := range all {
		if err := fill(scheme, &all[i]); err != nil {
			return fmt.Errorf("case %s: %w", all[i].Name, err)
		}
	}
	if err := golden.Write(out, all); err != nil {
		return err
	}
	fmt.Printf("%d golden files in %s\n", len(all), out)
	return nil
}

package variables

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// compatTopics lists the kinds of Kubeflow's training-operator, for --compat=kubeflow-v1.
func compatTopics() []topic {
	kind := func(name, of string, words []string, ways ...way) topic {
		for i := range ways {
			if ways[i].of == nil {
				ways[i].of = framework.Kubeflow{Kind: name}
			}
			ways[i].words, ways[i].change = words, named
		}
		return topic{title: name, command: "agent run --compat=kubeflow-v1 --framework=" + of + " -- " + strings.Join(words, " "), compat: true, ways: ways}
	}
	three := 3
	policy := framework.Kubeflow{Kind: "PyTorchJob", Elastic: &framework.KubeflowElastic{
		Min: 1, Max: 2, ID: "train", Conf: [][2]string{{"timeout", "900"}}, Standalone: true, MaxRestarts: &three, NprocPerNode: 1,
	}}
	return []topic{
		kind("PyTorchJob", "torch", python(), way{}, way{roles: "master=1,worker=1", when: "with a master"}, way{of: policy, when: "with elasticPolicy"}),
		kind("TFJob", "tensorflow", python(), way{roles: "chief=1,worker=1"}),
		kind("JAXJob", "jax", python(), way{}),
		kind("PaddleJob", "paddle", python(), way{}, way{roles: "master=1,worker=1", when: "with a master"}),
		kind("XGBoostJob", "xgboost", python(), way{roles: "master=1,worker=1"}),
		kind("MXJob", "mxnet", python(), way{roles: "scheduler=1,server=1,worker=1"}),
		kind("MPIJob", "mpi", []string{"mpirun", "./program"}, way{}),
	}
}

// named gives the workers the names of the operator's pods.
func named(c *framework.Cluster) {
	for i, w := range c.Workers {
		name := fmt.Sprintf("train-worker-%d", i)
		if w.Role != "" {
			name = fmt.Sprintf("train-%s-%d", w.Role, w.RoleIndex)
		}
		c.Workers[i].Name, c.Workers[i].Host = name, name
	}
}

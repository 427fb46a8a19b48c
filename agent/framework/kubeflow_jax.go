package framework

import "strconv"

// kfJAXEnv returns the variables of a JAXJob, as in training-operator v1.9: v1.8 had no such kind.
func kfJAXEnv(j kfJob, pod kfPod) []Var {
	const meet = "kubeflow-v1: the Service of worker 0, where the processes connect"
	return []Var{
		kfUnbuffered(),
		{Name: "COORDINATOR_PORT", Value: strconv.Itoa(j.port), Why: meet},
		{Name: "COORDINATOR_ADDRESS", Value: j.host("worker", 0), Why: meet + "; without the port"},
		{Name: "NUM_PROCESSES", Value: strconv.Itoa(len(j.pods)), Why: "kubeflow-v1: number of pods"},
		{Name: "PROCESS_ID", Value: strconv.Itoa(pod.index), Why: "kubeflow-v1: index of the pod"},
	}
}

func kfJAXFaults(j kfJob) []string {
	return append(j.alone(), "JAX reads none of these variables: jax.distributed.initialize() without arguments trains alone or fails")
}

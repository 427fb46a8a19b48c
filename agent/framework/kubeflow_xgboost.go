package framework

import (
	"strconv"
	"strings"
)

// kfXGBoostEnv returns the variables of an XGBoostJob, which LightGBM used as well.
func kfXGBoostEnv(j kfJob, pod kfPod) []Var {
	port := strconv.Itoa(j.port)
	const meet = "kubeflow-v1: the Service of the master, where the tracker is expected"
	env := []Var{
		{Name: "MASTER_PORT", Value: port, Why: meet},
		{Name: "MASTER_ADDR", Value: j.host("master", 0), Why: meet},
		{Name: "WORLD_SIZE", Value: strconv.Itoa(len(j.pods)), Why: "kubeflow-v1: number of pods, with the master"},
		{Name: "RANK", Value: strconv.Itoa(kfAfterMaster(j, pod)), Why: "kubeflow-v1: index of the pod, 0 for the master"},
		kfUnbuffered(),
	}
	if len(j.pods) == 1 {
		return env
	}
	const light = "kubeflow-v1: for LightGBM, which needs every host"
	var workers []string
	for i := range j.count("worker") {
		workers = append(workers, j.host("worker", i))
	}
	return append(env,
		Var{Name: "WORKER_PORT", Value: port, Why: light},
		Var{Name: "WORKER_ADDRS", Value: strings.Join(workers, ","), Why: light + "; without the master"})
}

func kfXGBoostFaults(j kfJob) []string {
	return append(j.alone(),
		"XGBoost and LightGBM read none of these variables: the script has to pass them",
		"WORLD_SIZE counts the master, but WORKER_ADDRS does not contain it")
}

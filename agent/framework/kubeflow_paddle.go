package framework

import (
	"fmt"
	"strconv"
)

// kfPaddleEnv returns the variables of a PaddleJob. With a master the job runs parameter servers on
// the masters; else it runs collectives. The pod that the others connect to has its own address in
// place of its name, which the kubelet filled in.
func kfPaddleEnv(j kfJob, pod kfPod) []Var {
	env := []Var{
		kfUnbuffered(),
		{Name: "PADDLE_JOB_ID", Value: j.name, Why: "kubeflow-v1: the job's name"},
		{Name: "PADDLE_NNODES", Value: strconv.Itoa(len(j.pods)), Why: "kubeflow-v1: number of pods"},
	}
	const meet = "kubeflow-v1: where paddle.distributed.launch connects"
	first := j.first()
	if pod.role == first.role && pod.index == 0 {
		env = append(env,
			Var{Name: "POD_IP_DUMMY", Value: pod.node.IP, Why: "kubeflow-v1: address of this pod"},
			Var{Name: "PADDLE_MASTER", Value: fmt.Sprintf("%s:%d", pod.node.IP, j.port), Why: meet + ", here"})
	} else {
		env = append(env, Var{Name: "PADDLE_MASTER", Value: fmt.Sprintf("%s:%d", j.host(first.role, 0), j.port), Why: meet})
	}
	switch {
	case j.count("master") == 0:
		return env
	case pod.role == "master":
		return append(env, Var{Name: "PADDLE_SERVER_NUM", Value: "1", Why: "kubeflow-v1: a parameter server on each master"})
	}
	return append(env, Var{Name: "PADDLE_TRAINER_NUM", Value: "1", Why: "kubeflow-v1: a trainer on each worker"})
}

func kfPaddleFaults(j kfJob) []string {
	return append(j.alone(), "no rank is set: python -m paddle.distributed.launch sets it, and any other command trains alone")
}

package framework

import (
	"fmt"
	"strconv"
)

// nproc applies the operator's default, auto. Only the deprecated field of the elastic policy
// prevents that default.
func (k Kubeflow) nproc(c Cluster) string {
	switch {
	case k.NprocPerNode != "":
		return k.NprocPerNode
	case c.Procs > 0:
		return strconv.Itoa(c.Procs)
	case k.Elastic != nil && k.Elastic.NprocPerNode > 0:
		return ""
	}
	return "auto"
}

// torchWorld returns the operator's WORLD_SIZE. If the number of processes is not a number, it
// counts as one.
func (j kfJob) torchWorld() int {
	n, err := strconv.Atoi(j.nproc)
	if err != nil {
		n = 1
	}
	return n * len(j.pods)
}

func kfTorchRank(j kfJob, pod kfPod) int {
	if j.count("master") == 0 {
		return -1
	}
	return kfAfterMaster(j, pod)
}

func kfTorchEnv(j kfJob, pod kfPod) []Var {
	env := []Var{kfUnbuffered()}
	if j.count("master") > 0 {
		port, host := strconv.Itoa(j.port), j.host("master", 0)
		rank := strconv.Itoa(kfTorchRank(j, pod))
		const meet = "kubeflow-v1: the Service of the master, where the ranks connect"
		env = append(env,
			Var{Name: "MASTER_PORT", Value: port, Why: meet},
			Var{Name: "PET_MASTER_PORT", Value: port, Why: meet + ", for torchrun"},
			Var{Name: "MASTER_ADDR", Value: host, Why: meet},
			Var{Name: "PET_MASTER_ADDR", Value: host, Why: meet + ", for torchrun"},
			Var{Name: "WORLD_SIZE", Value: strconv.Itoa(j.torchWorld()), Why: "kubeflow-v1: number of pods times nprocPerNode, if that is a number"},
			Var{Name: "RANK", Value: rank, Why: "kubeflow-v1: index of the pod, not of a process"},
			Var{Name: "PET_NODE_RANK", Value: rank, Why: "kubeflow-v1: index of the pod, for torchrun"})
	}
	if j.nproc != "" {
		env = append(env, Var{Name: "PET_NPROC_PER_NODE", Value: j.nproc, Why: "kubeflow-v1: nprocPerNode, for torchrun"})
	}
	if j.elastic != nil {
		return append(env, j.elastic.env(j)...)
	}
	return append(env, Var{Name: "PET_NNODES", Value: strconv.Itoa(len(j.pods)), Why: "kubeflow-v1: number of pods, for torchrun"})
}

func kfTorchFaults(j kfJob) []string {
	if j.count("master") == 0 {
		if j.elastic != nil {
			return []string{"RANK and WORLD_SIZE are not set because no worker has the role master: only torchrun sets them"}
		}
		return []string{"RANK, WORLD_SIZE and MASTER_ADDR are not set because no worker has the role master: a script that reads them trains alone"}
	}
	pods, world := len(j.pods), j.torchWorld()
	if world > pods {
		return []string{fmt.Sprintf("RANK counts pods, from 0 to %d, but WORLD_SIZE=%d counts processes: such a job needs torchrun, which sets both", pods-1, world)}
	}
	if j.nproc != "1" {
		return []string{fmt.Sprintf("RANK and WORLD_SIZE=%d count pods, but torchrun may start more processes by PET_NPROC_PER_NODE=%s", pods, j.nproc)}
	}
	return nil
}

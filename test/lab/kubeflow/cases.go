package main

import (
	"fmt"

	"github.com/musterhq/muster/test/lab/kubeflow/golden"
)

const source = "training-operator v1.8.1"

// cases lists every job. They have 1, 2 and 3 workers with and without a master,
// and 1 and 8 processes per worker if the kind has a field for it. Others have
// settings that change a kind's environment.
func cases() []golden.Case {
	var all []golden.Case
	for _, some := range [][]golden.Case{pyTorch(), tensorFlow(), mpiJobs(), xgBoost(), paddlePaddle(), mxNet()} {
		all = append(all, some...)
	}
	return all
}

// job makes a case. roles alternates names and counts.
func job(name, kind string, spec golden.Spec, roles ...any) golden.Case {
	for i := 0; i < len(roles); i += 2 {
		spec.Roles = append(spec.Roles, golden.Role{Name: roles[i].(string), Count: int32(roles[i+1].(int))})
	}
	return golden.Case{Name: name, Source: source, Kind: kind, Job: "train", Namespace: "team-a", Spec: spec}
}

func pyTorch() []golden.Case {
	const kind = "PyTorchJob"
	var all []golden.Case
	for workers := 1; workers <= 3; workers++ {
		for _, procs := range []string{"1", "8"} {
			spec := golden.Spec{NprocPerNode: procs}
			all = append(all,
				job(fmt.Sprintf("pytorch-w%d-n%s", workers, procs), kind, spec, "Worker", workers),
				job(fmt.Sprintf("pytorch-master-w%d-n%s", workers, procs), kind, spec, "Master", 1, "Worker", workers))
		}
	}
	elastic := func(policy golden.Elastic) golden.Spec { return golden.Spec{Elastic: &policy} }
	full := golden.Elastic{
		Min: count(2), Max: count(5), Backend: "etcd-v2", Host: "etcd.team-a", Port: 2379, ID: "run-7",
		Conf: [][2]string{{"timeout", "900"}, {"read_timeout", "60"}}, Standalone: true, MaxRestarts: count(4),
	}
	eight := elastic(golden.Elastic{Min: count(1), Max: count(3)})
	eight.NprocPerNode = "8"
	return append(all,
		job("pytorch-master-auto", kind, golden.Spec{}, "Master", 1, "Worker", 2),
		job("pytorch-master-alone", kind, golden.Spec{NprocPerNode: "8"}, "Master", 1),
		job("pytorch-master-gpu", kind, golden.Spec{NprocPerNode: "gpu"}, "Master", 1, "Worker", 1),
		job("pytorch-sidecar", kind, golden.Spec{Sidecar: true}, "Master", 1, "Worker", 1),
		job("pytorch-elastic-plain", kind, elastic(golden.Elastic{}), "Worker", 3),
		job("pytorch-elastic-min", kind, elastic(golden.Elastic{Min: count(2)}), "Worker", 3),
		job("pytorch-elastic-max", kind, elastic(golden.Elastic{Max: count(4)}), "Worker", 2),
		job("pytorch-elastic-range-n8", kind, eight, "Worker", 3),
		job("pytorch-elastic-full", kind, elastic(full), "Worker", 2),
		job("pytorch-elastic-master", kind, elastic(golden.Elastic{Min: count(1), Max: count(2)}), "Master", 1, "Worker", 2),
		job("pytorch-elastic-deprecated", kind, elastic(golden.Elastic{NprocPerNode: count(8)}), "Worker", 1))
}

func count(n int32) *int32 { return &n }

func tensorFlow() []golden.Case {
	const kind = "TFJob"
	var all []golden.Case
	sparse := golden.Spec{Sparse: true}
	for workers := 1; workers <= 3; workers++ {
		all = append(all,
			job(fmt.Sprintf("tf-w%d", workers), kind, golden.Spec{}, "Worker", workers),
			job(fmt.Sprintf("tf-chief-w%d", workers), kind, golden.Spec{}, "Chief", 1, "Worker", workers),
			job(fmt.Sprintf("tf-sparse-ps2-w%d", workers), kind, sparse, "PS", 2, "Worker", workers))
	}
	return append(all,
		job("tf-master-w2", kind, golden.Spec{}, "Master", 1, "Worker", 2),
		job("tf-chief-alone", kind, golden.Spec{}, "Chief", 1),
		job("tf-chief-ps2-w2-evaluator", kind, golden.Spec{}, "Chief", 1, "PS", 2, "Worker", 2, "Evaluator", 1),
		job("tf-sparse-chief-ps1-w2-evaluator", kind, sparse, "Chief", 1, "PS", 1, "Worker", 2, "Evaluator", 1),
		job("tf-sparse-w2", kind, sparse, "Worker", 2),
		job("tf-domain", kind, golden.Spec{ClusterDomain: "cluster.local"}, "PS", 1, "Worker", 1),
		job("tf-sidecar", kind, golden.Spec{Sidecar: true}, "Worker", 2))
}

func mpiJobs() []golden.Case {
	const kind = "MPIJob"
	var all []golden.Case
	for workers := 1; workers <= 3; workers++ {
		for _, slots := range []int32{1, 8} {
			all = append(all, job(fmt.Sprintf("mpi-w%d-s%d", workers, slots), kind,
				golden.Spec{SlotsPerWorker: slots}, "Launcher", 1, "Worker", workers))
		}
	}
	return append(all,
		job("mpi-gpu-launcher", kind, golden.Spec{SlotsPerWorker: 8, GPULauncher: true}, "Launcher", 1, "Worker", 2),
		job("mpi-sidecar", kind, golden.Spec{SlotsPerWorker: 1, Sidecar: true}, "Launcher", 1, "Worker", 1))
}

func xgBoost() []golden.Case {
	const kind = "XGBoostJob"
	var all []golden.Case
	for workers := 1; workers <= 3; workers++ {
		all = append(all,
			job(fmt.Sprintf("xgboost-w%d", workers), kind, golden.Spec{}, "Worker", workers),
			job(fmt.Sprintf("xgboost-master-w%d", workers), kind, golden.Spec{}, "Master", 1, "Worker", workers))
	}
	return append(all,
		job("xgboost-master-alone", kind, golden.Spec{}, "Master", 1),
		job("xgboost-sidecar", kind, golden.Spec{Sidecar: true}, "Master", 1, "Worker", 1))
}

func paddlePaddle() []golden.Case {
	const kind = "PaddleJob"
	var all []golden.Case
	for workers := 1; workers <= 3; workers++ {
		all = append(all,
			job(fmt.Sprintf("paddle-w%d", workers), kind, golden.Spec{}, "Worker", workers),
			job(fmt.Sprintf("paddle-master-w%d", workers), kind, golden.Spec{}, "Master", 1, "Worker", workers))
	}
	return append(all,
		job("paddle-master2-w2", kind, golden.Spec{}, "Master", 2, "Worker", 2),
		job("paddle-sidecar", kind, golden.Spec{Sidecar: true}, "Worker", 2))
}

func mxNet() []golden.Case {
	const kind = "MXJob"
	var all []golden.Case
	for workers := 1; workers <= 3; workers++ {
		all = append(all,
			job(fmt.Sprintf("mxnet-w%d", workers), kind, golden.Spec{}, "Worker", workers),
			job(fmt.Sprintf("mxnet-scheduler-server-w%d", workers), kind, golden.Spec{}, "Scheduler", 1, "Server", 1, "Worker", workers))
	}
	return append(all,
		job("mxnet-scheduler-server2-w2", kind, golden.Spec{}, "Scheduler", 1, "Server", 2, "Worker", 2),
		job("mxnet-sidecar", kind, golden.Spec{Sidecar: true}, "Scheduler", 1, "Server", 1, "Worker", 1))
}

package main

import operator "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"

// lives are those of jobs of each kind. All end: by the pods that decide, or by one
// that fails and is not restarted. Jobs whose pods are restarted are left out: which of
// Running and Restarting stays depends, in that operator, on the order of a map.
func lives() (all []life) {
	type jobs struct {
		name, kind, container string
		types                 []operator.ReplicaType // the first one decides
	}
	for _, j := range []jobs{
		{"pytorchjob", "PyTorchJob", operator.PyTorchJobDefaultContainerName, []operator.ReplicaType{"Master", "Worker"}},
		{"pytorchjob-workers", "PyTorchJob", operator.PyTorchJobDefaultContainerName, []operator.ReplicaType{"Worker"}},
		{"tfjob", "TFJob", operator.TFJobDefaultContainerName, []operator.ReplicaType{"Chief", "PS", "Worker"}},
		{"tfjob-workers", "TFJob", operator.TFJobDefaultContainerName, []operator.ReplicaType{"Worker"}},
		{"xgboostjob", "XGBoostJob", operator.XGBoostJobDefaultContainerName, []operator.ReplicaType{"Master", "Worker"}},
		{"paddlejob-master", "PaddleJob", operator.PaddleJobDefaultContainerName, []operator.ReplicaType{"Master", "Worker"}},
		{"paddlejob", "PaddleJob", operator.PaddleJobDefaultContainerName, []operator.ReplicaType{"Worker"}},
		{"mxjob", "MXJob", operator.MXJobDefaultContainerName, []operator.ReplicaType{"Scheduler", "Server", "Worker"}},
		{"mpijob", "MPIJob", operator.MPIJobDefaultContainerName, []operator.ReplicaType{"Launcher", "Worker"}},
	} {
		specs, waits, runs, ends := map[operator.ReplicaType]int32{}, counts{}, counts{}, counts{}
		for _, name := range j.types {
			specs[name] = 1
			waits[name], runs[name], ends[name] = operator.ReplicaStatus{}, operator.ReplicaStatus{Active: 1}, operator.ReplicaStatus{Active: 1}
		}
		ends[j.types[0]] = operator.ReplicaStatus{Succeeded: 1}
		fails := counts{}
		for name, c := range runs {
			fails[name] = c
		}
		fails[j.types[len(j.types)-1]] = operator.ReplicaStatus{Failed: 1}
		all = append(all,
			life{Name: j.name + "-succeeds", Kind: j.kind, container: j.container, Replicas: specs, Restart: operator.RestartPolicyNever, Steps: []step{{Counts: waits}, {Counts: runs}, {Counts: ends}}},
			life{Name: j.name + "-fails", Kind: j.kind, container: j.container, Replicas: specs, Restart: operator.RestartPolicyNever, Steps: []step{{Counts: waits}, {Counts: runs}, {Counts: fails}}},
			life{Name: j.name + "-ends-unseen", Kind: j.kind, container: j.container, Replicas: specs, Restart: operator.RestartPolicyNever, Steps: []step{{Counts: ends}}})
	}
	return all
}

package framework

import (
	"encoding/json"
	"fmt"
)

// kfTask, kfTFConfig and kfTFSparse are TF_CONFIG, with the fields in the operator's order.
type kfTask struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type kfTFConfig struct {
	Cluster     map[string][]string `json:"cluster"`
	Task        kfTask              `json:"task"`
	Environment string              `json:"environment"`
}

type kfTFSparse struct {
	Cluster kfSparseCluster `json:"cluster"`
	Task    kfTask          `json:"task"`
}

type kfSparseCluster struct {
	Worker map[int]string `json:"worker"`
	PS     []string       `json:"ps"`
}

// kfTFEnv returns the variables of a TFJob; a job of one replica has none.
func kfTFEnv(j kfJob, pod kfPod) []Var {
	if len(j.pods) == 1 {
		return nil
	}
	hosts := map[string][]string{}
	for _, p := range j.pods {
		host := fmt.Sprintf("%s.%s.svc", j.host(p.role, p.index), j.namespace)
		if j.domain != "" {
			host += "." + j.domain
		}
		hosts[p.role] = append(hosts[p.role], fmt.Sprintf("%s:%d", host, j.port))
	}
	task := kfTask{pod.role, pod.index}
	var config any = kfTFConfig{hosts, task, "cloud"}
	if j.sparse {
		config = kfTFSparse{kfSparse(hosts, task), task}
	}
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // impossible: strings and numbers only
	}
	return []Var{{Name: "TF_CONFIG", Value: string(text), Why: "kubeflow-v1: Services of all replicas, and the index of this one"}}
}

// kfSparse returns the part of the cluster that enableDynamicWorker leaves: a parameter server sees
// itself, a worker sees the servers and itself, and the others see nothing.
func kfSparse(hosts map[string][]string, task kfTask) kfSparseCluster {
	switch cluster := (kfSparseCluster{Worker: map[int]string{}, PS: []string{}}); task.Type {
	case "ps":
		cluster.PS = []string{hosts["ps"][task.Index]}
		return cluster
	case "worker":
		cluster.PS = hosts["ps"] // null if there are none
		cluster.Worker[task.Index] = hosts["worker"][task.Index]
		return cluster
	default:
		return cluster
	}
}

// kfTFPart makes the chief or master decide, else worker 0. Parameter servers never end.
func kfTFPart(j kfJob, pod kfPod) Part {
	chief := j.count("chief")+j.count("master") > 0
	switch {
	case pod.role == "ps":
		return Serves
	case pod.role == "chief", pod.role == "master", pod.role == "worker" && pod.index == 0 && !chief:
		return Decides
	}
	return Works
}

func kfTFFaults(j kfJob) []string {
	faults := j.alone()
	if len(j.pods) == 1 {
		return append(faults, "TF_CONFIG is not set for a job of one replica")
	}
	if j.sparse && j.count("chief")+j.count("master")+j.count("evaluator") > 0 {
		faults = append(faults, "chief, master and evaluator get an empty cluster because of --dynamic-workers")
	}
	if !j.sparse && j.count("evaluator") > 0 {
		faults = append(faults, "the evaluator is in the cluster, where TensorFlow does not expect it")
	}
	return faults
}

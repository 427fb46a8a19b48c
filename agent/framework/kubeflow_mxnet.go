package framework

import (
	"encoding/json"
	"strconv"
)

// kfMXConfig is MX_CONFIG, with the fields in the operator's order. Labels held the tuner's key of
// each role, which no training job had.
type kfMXConfig struct {
	Cluster map[string][]kfMXHost `json:"cluster"`
	Labels  map[string]string     `json:"labels"`
	Task    kfTask                `json:"task"`
}

type kfMXHost struct {
	URL  string `json:"url"`
	Port int    `json:"port"`
}

// kfMXEnv returns the variables of an MXJob. Without a scheduler its address is empty and its port
// is 0.
func kfMXEnv(j kfJob, pod kfPod) []Var {
	config := kfMXConfig{Cluster: map[string][]kfMXHost{}, Labels: map[string]string{}, Task: kfTask{pod.role, pod.index}}
	for _, p := range j.pods {
		config.Cluster[p.role] = append(config.Cluster[p.role], kfMXHost{j.host(p.role, p.index), j.port})
		config.Labels[p.role] = ""
	}
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // impossible: strings and numbers only
	}
	var root kfMXHost
	if schedulers := config.Cluster["scheduler"]; len(schedulers) > 0 {
		root = schedulers[0]
	}
	const meet = "kubeflow-v1: the Service of the scheduler, where ps-lite connects"
	env := []Var{
		{Name: "MX_CONFIG", Value: string(text), Why: "kubeflow-v1: Services of all replicas, and the index of this one"},
		{Name: "DMLC_PS_ROOT_PORT", Value: strconv.Itoa(root.Port), Why: meet},
		{Name: "DMLC_PS_ROOT_URI", Value: root.URL, Why: meet},
		{Name: "DMLC_NUM_SERVER", Value: strconv.Itoa(j.count("server")), Why: "kubeflow-v1: number of servers"},
		{Name: "DMLC_NUM_WORKER", Value: strconv.Itoa(j.count("worker")), Why: "kubeflow-v1: number of workers"},
		{Name: "DMLC_ROLE", Value: pod.role, Why: "kubeflow-v1: which of them this is"},
		{Name: "DMLC_USE_KUBERNETES", Value: "1", Why: "kubeflow-v1: always set"},
	}
	if pod.role == "worker" {
		env = append(env, Var{Name: "DMLC_WORKER_ID", Value: strconv.Itoa(pod.index), Why: "kubeflow-v1: for BytePS"})
	}
	return env
}

// kfMXRank returns the rank of a worker, which is DMLC_WORKER_ID; other roles have none.
func kfMXRank(_ kfJob, pod kfPod) int {
	if pod.role == "worker" {
		return pod.index
	}
	return -1
}

// kfMXPart makes the workers count. The operator waited for the scheduler, which ends after the
// workers. That was the same, because it left the other pods alone at the end. Muster stops the
// other pods then, so it must wait for the workers, or it would stop some of them early.
func kfMXPart(_ kfJob, pod kfPod) Part {
	if pod.role == "worker" {
		return Works
	}
	return Serves
}

func kfMXFaults(j kfJob) []string {
	if j.count("scheduler") == 0 {
		return append(j.alone(), "DMLC_PS_ROOT_URI is empty because no worker has the role scheduler")
	}
	return j.alone()
}

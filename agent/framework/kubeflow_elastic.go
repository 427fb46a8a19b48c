package framework

import (
	"fmt"
	"strconv"
	"strings"
)

// KubeflowElastic is the elasticPolicy of a PyTorchJob. A zero value is a field that is not given.
type KubeflowElastic struct {
	Min, Max     int    // if one is not given it equals the other; if both, the number of workers
	Backend      string // default c10d
	Host         string // default worker 0
	Port         int    // default: the job's port
	ID           string
	Conf         [][2]string
	Standalone   bool
	NprocPerNode int // deprecated there; if set, the operator's default for the job's own is not applied
	MaxRestarts  *int
}

// elastic applies the operator's defaults.
func (k Kubeflow) elastic(c Cluster, workers int) *KubeflowElastic {
	var e KubeflowElastic
	switch {
	case k.Elastic != nil:
		e = *k.Elastic
	case c.LeastWorkers > 0:
		e = KubeflowElastic{Min: c.LeastWorkers, Max: max(workers, c.MostWorkers)}
	default:
		return nil
	}
	switch {
	case e.Min == 0 && e.Max == 0:
		e.Min, e.Max = workers, workers
	case e.Min == 0:
		e.Min = e.Max
	case e.Max == 0:
		e.Max = e.Min
	}
	return &e
}

func (e KubeflowElastic) env(j kfJob) []Var {
	host, port, backend := j.host("worker", 0), j.port, "c10d"
	if e.Host != "" {
		host = e.Host
	}
	if e.Port != 0 {
		port = e.Port
	}
	if e.Backend != "" {
		backend = e.Backend
	}
	const why = "kubeflow-v1: elasticPolicy, for torchrun"
	env := []Var{
		{Name: "PET_RDZV_ENDPOINT", Value: fmt.Sprintf("%s:%d", host, port), Why: why},
		{Name: "PET_RDZV_BACKEND", Value: backend, Why: why},
		{Name: "PET_NNODES", Value: fmt.Sprintf("%d:%d", e.Min, e.Max), Why: why},
	}
	if e.MaxRestarts != nil {
		env = append(env, Var{Name: "PET_MAX_RESTARTS", Value: strconv.Itoa(*e.MaxRestarts), Why: why})
	}
	if e.NprocPerNode > 0 {
		env = append(env, Var{Name: "PET_NPROC_PER_NODE", Value: strconv.Itoa(e.NprocPerNode), Why: why})
	}
	if e.ID != "" {
		env = append(env, Var{Name: "PET_RDZV_ID", Value: e.ID, Why: why})
	}
	if len(e.Conf) > 0 {
		pairs := make([]string, 0, len(e.Conf))
		for _, pair := range e.Conf {
			pairs = append(pairs, pair[0]+"="+pair[1])
		}
		env = append(env, Var{Name: "PET_RDZV_CONF", Value: strings.Join(pairs, ","), Why: why})
	}
	if e.Standalone {
		env = append(env, Var{Name: "PET_STANDALONE", Value: "", Why: why})
	}
	return env
}

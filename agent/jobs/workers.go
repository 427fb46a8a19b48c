package jobs

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/usage"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/terminal"
)

// Workers returns what the pods of a job use, as the cluster measures it, without its launcher. note
// says why there is no usage. Pods that do not run are left out.
func (a *API) Workers(ctx context.Context, job *v1alpha1.LaunchJob) (all []usage.Worker, note string, err error) {
	pods, err := a.pods(ctx, a.Namespace, job.Name)
	if err != nil {
		return nil, "", a.explain(ctx, "list the pods of "+job.Name, err)
	}
	used, note := a.used(ctx, a.Namespace)
	for _, m := range podsOf(job.Name, pods) {
		if m.role == names.RoleLauncher || m.pod.Status.Phase != corev1.PodRunning {
			continue
		}
		w := usage.Worker{Worker: m.pod.Name, Node: m.pod.Spec.NodeName}
		if is, ok := used[m.pod.Namespace+"/"+m.pod.Name]; ok {
			cpu, memory := is.Cpu().MilliValue(), is.Memory().Value()
			w.CPU, w.Memory = &cpu, &memory
		}
		if job.Spec.Launcher == nil && m.rank >= 0 { // else the launcher knows
			for i := range procs(job) {
				w.Ranks = append(w.Ranks, usage.Rank{Rank: m.rank*procs(job) + i})
			}
		}
		all = append(all, w)
	}
	return all, note, nil
}

const (
	// gpuTime is how long nvidia-smi may take in a pod, and mostGPU how many pods are asked at the
	// same time.
	gpuTime = 10 * time.Second
	mostGPU = 16
)

// nvidia asks the driver for the utilization of each GPU, in percent.
var nvidia = []string{"nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"}

// AskGPUs runs nvidia-smi in the pods of workers that hold GPUs, and adds their mean utilization.
// Where the image has no nvidia-smi, it stays unknown.
func (a *API) AskGPUs(ctx context.Context, job string, workers []usage.Worker) {
	pods, err := a.pods(ctx, a.Namespace, job)
	if err != nil {
		return // they were listed just before
	}
	holds := map[string]jobPod{}
	for _, m := range podsOf(job, pods) {
		if gpusOf(m.pod) > 0 {
			holds[m.pod.Name] = m
		}
	}
	ctx, cancel := context.WithTimeout(ctx, gpuTime)
	defer cancel()
	var asked sync.WaitGroup
	turn := make(chan struct{}, mostGPU)
	for i := range workers {
		m, ok := holds[workers[i].Worker]
		if !ok {
			continue
		}
		turn <- struct{}{}
		asked.Go(func() {
			defer func() { <-turn }()
			c := terminal.Command{Namespace: m.pod.Namespace, Pod: m.pod.Name, Container: m.container(""), Argv: nvidia}
			if answer, err := terminal.Ask(ctx, a.config, c); err == nil && answer.Code == 0 {
				workers[i].GPU = utilization(answer.Said)
			}
		})
	}
	asked.Wait()
}

// utilization returns the mean of the numbers that nvidia-smi prints, one a line; nil if there is a
// GPU without one.
func utilization(text string) *int64 {
	sum, n := int64(0), int64(0)
	for line := range strings.Lines(strings.TrimSpace(text)) {
		percent, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil || percent < 0 || percent > 100 {
			return nil // "[N/A]" with MIG
		}
		sum, n = sum+percent, n+1
	}
	if n == 0 {
		return nil
	}
	sum /= n
	return &sum
}

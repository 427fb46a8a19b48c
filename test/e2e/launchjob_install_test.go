//go:build e2e

package e2e

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/kubeflow"
	"github.com/musterhq/muster/test/suite/kube"
)

// controllerNamespace is the controller's namespace in images/deploy.
const controllerNamespace = "muster-system"

var installed struct {
	sync.Mutex
	done bool
}

// withController installs the controller with kustomize, once for all tests, with the images of images/build.sh. A
// new run of the tests restarts it. It stays installed, as the cluster does.
func withController(t *testing.T) {
	t.Helper()
	installed.Lock()
	defer installed.Unlock()
	if installed.done {
		return
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	require.NoError(t, kube.Controller(ctx, "../../images/deploy", run()))
	installed.done = true
}

// launchJob returns the job of manifests/launchjob.yaml, which has two workers, with changes.
func launchJob(t *testing.T, name string, command []string, change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
	t.Helper()
	text, err := os.ReadFile("manifests/launchjob.yaml")
	require.NoError(t, err)
	job := &v1alpha1.LaunchJob{}
	require.NoError(t, yaml.UnmarshalStrict(text, job))
	job.Name = name
	job.Spec.Launcher.Template.Spec.Containers[0].Command = command
	for _, f := range change {
		f(job)
	}
	return job
}

// launch installs the controller and applies jobs.
func (s *space) launch(jobs ...*v1alpha1.LaunchJob) {
	s.t.Helper()
	withController(s.t)
	for _, job := range jobs {
		s.apply(job)
	}
}

// lj returns a LaunchJob from the cluster.
func (s *space) lj(name string) v1alpha1.LaunchJob {
	s.t.Helper()
	var job v1alpha1.LaunchJob
	s.read(&job, "get", "launchjob", name)
	return job
}

// becomes waits until ok is true for the status of a job.
func (s *space) becomes(name string, limit time.Duration, what string, ok func(v1alpha1.LaunchJobStatus) bool) v1alpha1.LaunchJobStatus {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		status := s.lj(name).Status
		if ok(status) {
			return status
		}
		if time.Now().After(deadline) {
			text, _ := yaml.Marshal(status)
			s.t.Fatalf("%s: not %s within %s:\n%s", name, what, limit, text)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func inPhase(phase string) func(v1alpha1.LaunchJobStatus) bool {
	return func(s v1alpha1.LaunchJobStatus) bool { return s.Phase == phase }
}

// TestLaunchJobConverted runs manifests of five kinds to their ends, converted by agent convert. An init container
// brings the agent. The jobs use fake GPUs that the scheduler counts, so no other test may run at the same time.
func TestLaunchJobConverted(t *testing.T) {
	s := newSpace(t)
	// Users' manifests run as root.
	s.kubectl("label", "namespace", s.name, "pod-security.kubernetes.io/enforce=privileged", "--overwrite")
	require.NoError(t, kube.GPUs(t.Context(), "node1", 4))
	t.Cleanup(func() { require.NoError(t, kube.GPUs(context.WithoutCancel(t.Context()), "node1", 0)) })
	text, err := os.Open("manifests/benchmarks-v1alpha2.yaml")
	require.NoError(t, err)
	defer text.Close()
	docs, err := kubeflow.Read(text)
	require.NoError(t, err)
	for _, d := range docs {
		r := kubeflow.Convert(d.Object, kubeflow.Options{})
		require.NotNil(t, r.Job, "%v", r.Findings)
		r.Job.Spec.Gang = nil // this cluster has no Volcano
		if r.Job.Name == "torch" {
			r.Job.Spec.Success = "all" // a master that ends at once would end workers that have not started
		}
		s.launch(r.Job)
	}
	over := func(name string) {
		s.becomes(name, 3*time.Minute, "over", func(st v1alpha1.LaunchJobStatus) bool {
			return st.Phase == v1alpha1.PhaseSucceeded || st.Phase == v1alpha1.PhaseFailed
		})
		require.Equal(t, v1alpha1.PhaseSucceeded, s.lj(name).Status.Phase, "%+v\n%s", s.lj(name).Status, s.kubectl("get", "pods", "-o", "wide"))
	}

	over("benchmarks")
	log := s.logs("benchmarks-launcher")
	require.Contains(t, log, "rank 0 on benchmarks-worker-0")
	require.Contains(t, log, "rank 1 on benchmarks-worker-1")
	require.Contains(t, log, "total images/sec: 215.32")
	require.Equal(t, "node1", s.pod("benchmarks-worker-0").Spec.NodeName)

	over("ssh")
	require.Equal(t, []int{2, 2}, ranksPerWorker(t, s.logs("ssh-launcher"), job{name: "ssh", workers: 2}))
	pod := s.pod("ssh-worker-1")
	require.Equal(t, "1", pod.Labels["training.kubeflow.org/replica-index"])
	require.Equal(t, "worker", pod.Labels["training.kubeflow.org/job-role"])

	over("torch")
	for i, name := range []string{"torch-master-0", "torch-worker-0", "torch-worker-1"} {
		require.Contains(t, s.logs(name), "rank "+string(rune('0'+i))+" of 3 at torch-master-0\n")
		require.Equal(t, strings.Split(name, "-")[1], s.pod(name).Labels["training.kubeflow.org/replica-type"])
	}
	over("tf")
	require.Contains(t, s.logs("tf-chief-0"), `"ps":["tf-ps-0.`+s.name+`.svc:2222"]`)

	over("volcano")
	require.Equal(t, []int{1, 1}, ranksPerWorker(t, s.logs("volcano-launcher"), job{name: "volcano", workers: 2}))
}

//go:build e2e

package e2e

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/kube"
)

// controllerNamespace is where images/deploy puts the controller.
const controllerNamespace = "muster-system"

var installed struct {
	sync.Mutex
	done bool
}

// withController installs the controller by kustomize, once for all tests, with
// the images of images/build.sh; a new run of the tests starts it anew. It stays, as the cluster does.
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

// launchJob reads manifests/launchjob.yaml, a job of two workers, and changes it.
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

// lj reads a LaunchJob.
func (s *space) lj(name string) v1alpha1.LaunchJob {
	s.t.Helper()
	var job v1alpha1.LaunchJob
	s.read(&job, "get", "launchjob", name)
	return job
}

// becomes waits until the status of a job is as the test wants it.
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

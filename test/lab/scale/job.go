//go:build linux

package main

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// job is the LaunchJob of the end-to-end tests under another name.
func (w *world) job(space, name string, workers int32) (*v1alpha1.LaunchJob, error) {
	text, err := os.ReadFile(filepath.Join(w.Root, "test/e2e/manifests/launchjob.yaml"))
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.LaunchJob{}
	if err := yaml.UnmarshalStrict(text, job); err != nil {
		return nil, err
	}
	job.Namespace, job.Name, job.Spec.Workers = space, name, &workers
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "None"}
	job.Spec.Launcher.Template.Spec.Containers[0].Command = []string{"mpirun", "/opt/muster-test/hello"}
	return job, nil
}

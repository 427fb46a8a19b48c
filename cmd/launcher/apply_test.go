package main

import (
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// apply implements `apply FILE`: it puts the LaunchJob in the file, with its status, into namespace lab.
func (o *office) apply(ts *testscript.TestScript, file string) {
	var job v1alpha1.LaunchJob
	ts.Check(yaml.UnmarshalStrict([]byte(ts.ReadFile(file)), &job))
	job.Namespace = "lab"
	o.jobs.Put(&job)
}

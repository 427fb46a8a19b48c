// Package pipelines gives images/pipelines/component.yaml to the SDKs of Kubeflow
// Pipelines themselves, 1.8 and 2, each in an environment of its own with packages
// of PyPI (test/lab/frameworks -venv), and says what a step's container would be given.
//
//	go test -tags pypi ./test/suite/pipelines
//	go test -tags e2e -run Pipelines ./test/e2e        that container, run on the cluster
//
// The back end of Pipelines is not here: compile.py replaces the placeholders.
package pipelines

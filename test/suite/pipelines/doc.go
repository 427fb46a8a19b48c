// Package pipelines compiles images/pipelines/component.yaml with the SDKs of Kubeflow Pipelines, 1.8 and 2. Each
// SDK has its own environment with packages of PyPI (test/lab/frameworks -venv). The result is what a step's
// container would be given.
//
//	go test -tags pypi ./test/suite/pipelines
//	go test -tags e2e -run Pipelines ./test/e2e        runs that container on the cluster
//
// The back end of Pipelines does not run here: compile.py replaces the placeholders.
package pipelines

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/agent/submit"
)

// ofStep converts the command line of a step of Kubeflow Pipelines
// (images/pipelines/component.yaml) to what a user would type, and writes the step's outputs. It
// returns any other command line unchanged.
func ofStep(ctx context.Context, args []string, streams Streams) ([]string, error) {
	if len(args) == 0 || args[0] != "submit" || !submit.IsStep(args[1:]) {
		return args, nil
	}
	warn := sayer(streams.Err)
	api, err := open(jobs.Where{})
	if err != nil {
		return nil, err
	}
	step := submit.Step{Pod: jobs.OwnPod()}
	if step.Workflow, err = api.Workflow(ctx, step.Pod); err != nil {
		warn("cannot find the workflow's name: %v", err)
	}
	typed, err := submit.Pipelines(args[1:], step)
	if err != nil {
		return nil, err
	}
	for _, note := range typed.Notes {
		warn("%s", note)
	}
	for path, text := range typed.Outputs {
		if err := writeOutput(path, text); err != nil {
			return nil, failure.New(1, "images/pipelines/component.yaml has the paths from Pipelines", "write output: %w", err)
		}
	}
	return append([]string{"submit"}, typed.Args...), nil
}

// writeOutput also creates the directory, because version 1 of Pipelines does not.
func writeOutput(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

// discardTime is the time limit for deleting the job of a step that is being stopped.
const discardTime = 10 * time.Second

// discard deletes the job after a signal has ended the wait for it, and returns the signal's exit
// code.
func discard(api *jobs.API, name string, uid types.UID, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), discardTime)
	defer cancel()
	if err := api.Delete(ctx, api.Namespace, name, uid); err != nil && !apierrors.IsNotFound(err) {
		return failure.New(stopCode(cause), api.Line("delete "+name), "job %s was not deleted: %w", name, err)
	}
	return failure.New(stopCode(cause), "", "job %s is deleted: %w", name, cause)
}

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
)

// Path is the kubectl of $MUSTER_KUBECTL, else that of PATH.
func Path() string {
	if path := os.Getenv("MUSTER_KUBECTL"); path != "" {
		return path
	}
	return "kubectl"
}

// Kubectl runs kubectl in a namespace; what it complains of stands in the error.
func Kubectl(ctx context.Context, namespace string, stdin []byte, args ...string) (string, error) {
	return Program(ctx, stdin, Path(), append([]string{"--namespace", namespace}, args...)...)
}

// Program runs a program and gives its stdout; its stderr stands in the error.
func Program(ctx context.Context, stdin []byte, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w: %s", strings.Join(args[:min(len(args), 5)], " "), errors.Join(err, ctx.Err()), strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Apply creates objects.
func Apply(ctx context.Context, namespace string, objects ...any) error {
	var text bytes.Buffer
	for _, object := range objects {
		if err := json.NewEncoder(&text).Encode(object); err != nil {
			return err
		}
	}
	_, err := Kubectl(ctx, namespace, text.Bytes(), "apply", "--validate=false", "-f", "-")
	return err
}

// Open makes a namespace with a label of its owner's. Pods are refused until it has a service
// account, so Open waits for that.
func Open(ctx context.Context, namespace, owner string) error {
	if err := Apply(ctx, namespace, Space(namespace, owner)); err != nil {
		return err
	}
	_, err := Kubectl(ctx, namespace, nil, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	return err
}

// Terminated waits until the first container of a pod has ended, and gives its exit code.
// It waits for 5 s at a time: a watch may break off, also without a word.
func Terminated(ctx context.Context, namespace, pod string) (code int, err error) {
	const state = "jsonpath={.status.containerStatuses[0].state.terminated"
	err = await.Until(ctx, 500*time.Millisecond, pod+" to end", func() (bool, error) {
		if _, err := Kubectl(ctx, namespace, nil, "wait", "--for="+state+"}", "pod/"+pod, "--timeout=5s"); err != nil {
			return false, err
		}
		text, err := Kubectl(ctx, namespace, nil, "get", "pod", pod, "-o", state+".exitCode}")
		if err != nil || text == "" {
			return false, err
		}
		_, err = fmt.Sscan(text, &code)
		return true, err
	})
	return code, err
}

//go:build linux

package main

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
)

func kubectlPath() string {
	if path := os.Getenv("MUSTER_KUBECTL"); path != "" {
		return path
	}
	return "kubectl"
}

// kubectl runs kubectl in a namespace; what it complains of stands in the error.
func kubectl(ctx context.Context, namespace string, stdin []byte, args ...string) (string, error) {
	return program(ctx, stdin, kubectlPath(), append([]string{"--namespace", namespace}, args...)...)
}

// cluster is a verb of test/cluster.
func cluster(ctx context.Context, args ...string) error {
	_, err := program(ctx, nil, os.Getenv("MUSTER_CLUSTER"), args...)
	return err
}

func program(ctx context.Context, stdin []byte, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w: %s", strings.Join(args[:min(len(args), 5)], " "), errors.Join(err, ctx.Err()), strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// apply creates objects.
func apply(ctx context.Context, namespace string, objects ...any) error {
	var text bytes.Buffer
	for _, object := range objects {
		if err := json.NewEncoder(&text).Encode(object); err != nil {
			return err
		}
	}
	_, err := kubectl(ctx, namespace, text.Bytes(), "apply", "--validate=false", "-f", "-")
	return err
}

// terminated waits until the container of a pod has ended, and gives its exit code.
// It asks again and again: a watch may break off with its node.
func terminated(ctx context.Context, namespace, pod string) (code int, err error) {
	for {
		text, err := kubectl(ctx, namespace, nil, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
		if err == nil && text != "" {
			_, err = fmt.Sscan(text, &code)
			return code, err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return 0, fmt.Errorf("%s did not end in time: %w", pod, errors.Join(err, ctx.Err()))
		}
	}
}

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

// kubectl runs kubectl in a namespace; stderr stands in the error.
func kubectl(ctx context.Context, namespace string, stdin []byte, args ...string) (string, error) {
	path := os.Getenv("MUSTER_KUBECTL")
	if path == "" {
		path = "kubectl"
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"--namespace", namespace}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args[:min(len(args), 3)], " "), errors.Join(err, ctx.Err()), strings.TrimSpace(stderr.String()))
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

// terminated waits until the first container of a pod has ended, and gives its
// exit code.
func terminated(ctx context.Context, namespace, pod string) (code int, err error) {
	const state = "{.status.containerStatuses[0].state.terminated"
	limit := 10 * time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline)
	}
	if _, err := kubectl(ctx, namespace, nil, "wait", "--for=jsonpath="+state+"}", "pod/"+pod, "--timeout="+limit.String()); err != nil {
		return 0, err
	}
	text, err := kubectl(ctx, namespace, nil, "get", "pod", pod, "-o", "jsonpath="+state+".exitCode}")
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(text, &code); err != nil {
		return 0, fmt.Errorf("exit code of %s: %q", pod, text)
	}
	return code, nil
}

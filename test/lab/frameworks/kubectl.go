//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

// terminated waits until the first container of a pod has ended, and gives its
// exit code.
func terminated(ctx context.Context, namespace, pod string) (code int, err error) {
	const state = "{.status.containerStatuses[0].state.terminated"
	limit := 10 * time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline)
	}
	if _, err := kube.Kubectl(ctx, namespace, nil, "wait", "--for=jsonpath="+state+"}", "pod/"+pod, "--timeout="+limit.String()); err != nil {
		return 0, err
	}
	text, err := kube.Kubectl(ctx, namespace, nil, "get", "pod", pod, "-o", "jsonpath="+state+".exitCode}")
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(text, &code); err != nil {
		return 0, fmt.Errorf("exit code of %s: %q", pod, text)
	}
	return code, nil
}

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// cluster is a verb of test/lab/cluster.
func cluster(ctx context.Context, args ...string) error {
	_, err := kube.Program(ctx, nil, os.Getenv("MUSTER_CLUSTER"), args...)
	return err
}

// terminated waits until the container of a pod has ended, and gives its exit code.
// It asks again and again: a watch may break off with its node.
func terminated(ctx context.Context, namespace, pod string) (code int, err error) {
	err = await.Until(ctx, 500*time.Millisecond, pod+" to end", func() (bool, error) {
		text, err := kube.Kubectl(ctx, namespace, nil, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
		if err != nil || text == "" {
			return false, err
		}
		_, err = fmt.Sscan(text, &code)
		return true, err
	})
	return code, err
}

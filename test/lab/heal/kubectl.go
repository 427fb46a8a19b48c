//go:build linux

package main

import (
	"context"
	"os"

	"github.com/musterhq/muster/test/suite/kube"
)

// cluster is a verb of test/lab/cluster.
func cluster(ctx context.Context, args ...string) error {
	_, err := kube.Program(ctx, nil, os.Getenv("MUSTER_CLUSTER"), args...)
	return err
}

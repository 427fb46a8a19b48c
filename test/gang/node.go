//go:build linux

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/kube"
)

const (
	gpu     = "nvidia.com/gpu"
	gpuNode = "node1"
)

// giveGPUs writes GPUs into the node's status; the kubelet counts pods against them.
func giveGPUs(ctx context.Context, n string) error {
	return patchStatus(ctx, `{"status":{"capacity":{"`+gpu+`":"`+n+`"},"allocatable":{"`+gpu+`":"`+n+`"}}}`)
}

func takeGPUs(ctx context.Context) error {
	return patchStatus(ctx, `{"status":{"capacity":{"`+gpu+`":null},"allocatable":{"`+gpu+`":null}}}`)
}

func patchStatus(ctx context.Context, patch string) error {
	_, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, "patch", "node", gpuNode, "--subresource=status", "--type=merge", "--patch", patch)
	return err
}

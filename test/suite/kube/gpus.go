package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// GPUs writes n nvidia.com/gpu into a node's status, as a device plugin would; the
// scheduler and the kubelet count pods against them. 0 takes them away.
func GPUs(ctx context.Context, node string, n int) error {
	amount := fmt.Sprintf(`"%d"`, n)
	if n == 0 {
		amount = "null"
	}
	patch := fmt.Sprintf(`{"status":{"capacity":{"nvidia.com/gpu":%s},"allocatable":{"nvidia.com/gpu":%s}}}`, amount, amount)
	_, err := Kubectl(ctx, corev1.NamespaceDefault, nil, "patch", "node", node, "--subresource=status", "--type=merge", "--patch", patch)
	return err
}

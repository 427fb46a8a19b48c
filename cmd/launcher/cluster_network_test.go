//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestClusterNCCLWithoutRDMA checks that the launcher says once in a run that NCCL uses sockets on
// workers whose pods ask for RDMA devices, and that the run continues.
func TestClusterNCCLWithoutRDMA(t *testing.T) {
	t.Parallel()
	for name, cmd := range map[string][]string{
		"a group":                   {"--framework=plain", "--", "sh", "-c", untilAttempt1NCCL},
		"a command in the launcher": {"--exit=strict", "--", "sh", "-c", "for h in 0 1; do agent rsh pi-worker-$h '" + untilAttempt1NCCL + "' || exit; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for i := range 2 {
				c.start(i, func(pod *corev1.Pod) {
					pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"rdma/hca": resource.MustParse("1")}
				})
			}
			l := c.run(append([]string{"--workers=2", "--max-restarts=1", "--restart-on=+3"}, cmd...)...)
			require.Zero(t, l.end(t), l.err.String())
			require.Equal(t, 1, strings.Count(l.err.String(), "agent: NCCL fell back to sockets on pi-worker-"), l.err.String())
			require.Equal(t, 1, strings.Count(l.err.String(), "(NET/Socket); asked for RDMA\nhint: NCCL printed that itself; check "), l.err.String())
			require.Contains(t, l.out.String(), "NCCL INFO Using network Socket", "the line itself is kept")
		})
	}
}

// untilAttempt1NCCL prints what NCCL prints without RDMA, fails in attempt 0, and succeeds in attempt 1.
const untilAttempt1NCCL = `echo "$ON:7:7 [0] NCCL INFO Using network Socket"; test $MUSTER_ATTEMPT = 1 || exit 3`

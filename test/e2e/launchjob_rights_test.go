//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestLaunchJobNames: with discovery names, and an agent that an init container
// brings, the launcher's token may get and exec the job's own pods, and list none.
func TestLaunchJobNames(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "byname", []string{"sh", "-c", "mpirun /opt/muster-test/hello && sleep 15"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Discovery, j.Spec.Agent = "names", &v1alpha1.Agent{Delivery: "init"}
	}))
	s.kubectl("wait", "--for=condition=Launched", "launchjob/byname", "--timeout=2m")
	may := func(args ...string) bool {
		out, _ := s.try(time.Minute, append([]string{"auth", "can-i", "--as=system:serviceaccount:" + s.name + ":byname-launcher"}, args...)...)
		return strings.TrimSpace(out) == "yes"
	}
	require.True(t, may("get", "pods/byname-worker-0"))
	require.True(t, may("create", "pods/byname-worker-0", "--subresource=exec"))
	require.False(t, may("list", "pods"))
	require.False(t, may("watch", "pods"))
	require.False(t, may("get", "pods/another"))
	require.False(t, may("create", "pods/byname-launcher", "--subresource=exec"))

	s.becomes("byname", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs("byname-launcher"), job{name: "byname", workers: 2}))
	require.Eventually(t, func() bool { return !may("create", "pods/byname-worker-0", "--subresource=exec") }, 20*time.Second, time.Second,
		"the right outlives the job")
}

// TestLaunchJobHostNetwork: two workers share a node's network.
func TestLaunchJobHostNetwork(t *testing.T) {
	t.Parallel()
	s := newSpaceWith(t, "privileged")
	s.launch(launchJob(t, "host", []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) {
		spec := &j.Spec.Roles[0].Template.Spec
		spec.HostNetwork, spec.NodeSelector = true, map[string]string{corev1.LabelHostname: "node1"}
	}))
	s.becomes("host", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs("host-launcher"), job{name: "host", workers: 2}))
}

// TestLaunchJobLauncherTakesRanks: the launcher is a host of the job as well.
func TestLaunchJobLauncherTakesRanks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "both", []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Slots = 2 }))
	s.becomes("both", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	log := s.logs("both-launcher")
	require.Equal(t, 6, strings.Count(log, " of 6 on "), log)
	require.Regexp(t, `(?m)^rank 1 of 6 on \S+ session none `, log)
}

//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/audit"
)

// TestLaunchJobTransport runs a job whose launcher reaches its workers by network, with the keys that the controller
// makes. A second job, by exec, shows that the audit log would name exec streams. The pods comply with Pod Security
// restricted, and their user is none that owns the mounted keys.
func TestLaunchJobTransport(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	began := time.Now()
	const keys = "/var/run/secrets/muster.dev/key"
	script := "mpirun /opt/muster-test/hello && for w in 0 1; do /muster/agent rsh net-worker-$w ls " + keys + "; done && ls " + keys
	s.launch(
		launchJob(t, "net", []string{"sh", "-c", script}, func(j *v1alpha1.LaunchJob) { j.Spec.Transport = "network" }),
		launchJob(t, "old", []string{"mpirun", "/opt/muster-test/hello"}),
	)
	for _, name := range []string{"net", "old"} {
		s.becomes(name, 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	}
	log := s.logs("net-launcher")
	require.Equal(t, each(2, 2), ranksPerWorker(t, log, job{name: "net", workers: 2}))
	require.NotContains(t, log, "linked by exec")
	require.Equal(t, 2, strings.Count(log, "worker.key"), "each worker has the worker's key: %s", log)
	require.Equal(t, 1, strings.Count(log, "launcher.key"), "only the launcher has the launcher's key: %s", log)

	secret := s.lj("net").Status.TokenSecret
	require.True(t, strings.HasPrefix(secret, "net-keys-"), secret)
	require.Equal(t, "LaunchJob/net true", s.kubectl("get", "secret", secret, "-o", "jsonpath={.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name} {.immutable}"))
	require.Empty(t, s.lj("old").Status.TokenSecret)

	path := os.Getenv("MUSTER_AUDIT_LOG")
	if path == "" && os.Getenv("MUSTER_CLUSTER") == "" {
		t.Log("this cluster's audit log is unknown (MUSTER_AUDIT_LOG): exec streams are not counted")
		return
	}
	execs := func() (of map[string]bool) {
		all, err := audit.Since(path, began)
		require.NoError(t, err, "test/lab/cluster up starts an API server that writes one")
		of = map[string]bool{}
		for _, r := range all {
			if r.Resource == "pods/exec" && r.Namespace == s.name {
				of[r.Name] = true
			}
		}
		return of
	}
	var seen map[string]bool
	require.Eventually(t, func() bool { seen = execs(); return len(seen) >= 2 }, 30*time.Second, time.Second, "a stream is logged when it ends")
	require.Equal(t, map[string]bool{"old-worker-0": true, "old-worker-1": true}, seen)
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestLaunchJobDelivery runs jobs whose agent comes by an init container and as an image volume. auto must choose
// the volume exactly if all nodes can mount one.
func TestLaunchJobDelivery(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	var nodes corev1.NodeList
	s.read(&nodes, "get", "nodes")
	mounts := true
	for _, n := range nodes.Items {
		mounts = mounts && version.MustParseGeneric(n.Status.NodeInfo.KubeletVersion).AtLeast(version.MustParseGeneric("1.35"))
	}
	volume := map[string]bool{"auto": mounts, "init": false}
	if mounts {
		volume["imageVolume"] = true
	}
	for delivery := range volume {
		s.launch(launchJob(t, "by-"+strings.ToLower(delivery), []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) {
			j.Spec.Agent = &v1alpha1.Agent{Delivery: delivery}
		}))
	}
	for delivery, want := range volume {
		name := "by-" + strings.ToLower(delivery)
		s.becomes(name, 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
		require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs(name+"-launcher"), job{name: name, workers: 2}))
		var pod corev1.Pod
		s.read(&pod, "get", "pod", name+"-launcher")
		mounted := false
		for _, v := range pod.Spec.Volumes {
			mounted = mounted || v.Image != nil
		}
		require.Equal(t, want, mounted, "%s: the agent's image is a volume", delivery)
		require.Equal(t, want, len(pod.Spec.InitContainers) == 0, "%s: no init container", delivery)
	}
}

// TestLaunchJobUserNamespaces runs a job in user namespaces, in which root is an ordinary user of the node. The
// agent is PID 1 there, exec works, and its image is mounted.
func TestLaunchJobUserNamespaces(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "users", []string{"sh", "-c", "cat /proc/self/uid_map && exec mpirun /opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Agent = &v1alpha1.Agent{Delivery: "auto"}
		j.Spec.Launcher.Template.Spec.HostUsers, j.Spec.Roles[0].Template.Spec.HostUsers = new(bool), new(bool)
	}))
	var nodes corev1.NodeList
	s.read(&nodes, "get", "nodes")
	for _, n := range nodes.Items {
		for _, h := range n.Status.RuntimeHandlers {
			if h.Features != nil && h.Features.UserNamespaces != nil && *h.Features.UserNamespaces {
				s.becomes("users", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
				log := s.logs("users-launcher")
				require.NotRegexp(t, `(?m)^ +0 +0 +4294967295$`, log, "the launcher is in the node's user namespace")
				require.Equal(t, each(2, 2), ranksPerWorker(t, log, job{name: "users", workers: 2}))
				return
			}
		}
	}
	s.becomes("users", time.Minute, "explained", func(status v1alpha1.LaunchJobStatus) bool {
		return strings.Contains(status.Message, "user namespace")
	})
}

//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// process is a process of a pod's first container, as the machine sees it: the
// nodes of test/lab/cluster are namespaces of this machine.
type process struct {
	pid   int    // here
	inner int    // in its container
	argv  string // words joined by blanks
}

// isAttach tells the bridge of a link.
func (p process) isAttach() bool {
	words := strings.Fields(p.argv)
	return len(words) > 1 && filepath.Base(words[0]) == "agent" && words[1] == "attach"
}

// containerID is the bare id of a pod's first container.
func containerID(pod corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 {
		return ""
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	return id
}

// processesOf finds the living processes of pods' first containers, by pod.
// Zombies are not counted.
func processesOf(t *testing.T, pods []corev1.Pod) map[string][]process {
	t.Helper()
	byID := map[string]string{}
	for _, pod := range pods {
		if id := containerID(pod); id != "" {
			byID[id] = pod.Name
		}
	}
	all, err := procfs.AllProcs()
	require.NoError(t, err)
	found := map[string][]process{}
	for _, p := range all {
		groups, err := p.Cgroups()
		if err != nil || len(groups) == 0 {
			continue // it has ended
		}
		pod, ours := byID[filepath.Base(groups[0].Path)]
		if !ours {
			continue
		}
		stat, err := p.Stat()
		status, serr := p.NewStatus()
		if err != nil || serr != nil || stat.State == "Z" {
			continue
		}
		argv, _ := p.CmdLine()
		found[pod] = append(found[pod], process{pid: p.PID, inner: int(status.NSpids[len(status.NSpids)-1]), argv: strings.Join(argv, " ")})
	}
	return found
}

// killFirst kills PID 1 of pods' first containers from the node, all at once.
func killFirst(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	killed := 0
	for _, list := range processesOf(t, pods) {
		for _, p := range list {
			if p.inner == 1 {
				require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
				killed++
			}
		}
	}
	require.Equal(t, len(pods), killed, "first processes found")
}

// left lists what is in pods' containers besides PID 1, bridges of links too.
// It looks until there is nothing, or limit has passed.
func left(t *testing.T, pods []corev1.Pod, limit time.Duration) (words []string) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(200 * time.Millisecond) {
		words = nil
		for pod, list := range processesOf(t, pods) {
			for _, p := range list {
				if p.inner != 1 {
					words = append(words, pod+": "+p.argv)
				}
			}
		}
		if len(words) == 0 || time.Now().After(deadline) {
			return words
		}
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// shortLease is the lease in rows whose launcher does not return.
const shortLease = 20 * time.Second

// breakLaunchers covers launchers that are lost, and launchers that have no API server for longer than the lease.
func breakLaunchers(t *testing.T, f *faults) {
	t.Cleanup(func() { awaitControllers(t) })
	short := []string{"--lease=" + shortLease.String()}
	for _, row := range []fault{
		{event: "the launcher's container restarted", survived: true, launcher: restarting, strike: restartLaunchers},
		{event: "API server away for longer than the lease", victim: -1, limit: 75 * time.Second,
			lease: shortLease, flags: short, strike: outlast},
	} {
		t.Run(row.event, func(t *testing.T) { row.run(t, f) })
	}
	// After such a long outage, a kubelet's heartbeat may be late. Its node would then lose the pods that the next
	// rows create.
	awaitControllers(t)
	for _, row := range []fault{
		{event: "the launcher's pod force-deleted", strike: forceDelete},
		{event: "the launcher killed, its pod force-deleted", strike: killAndDelete},
	} {
		row.flags, row.lease, row.command, row.begun = short, shortLease, runaways, "begun"
		t.Run(row.event, func(t *testing.T) { row.abandon(t, f) })
	}
}

func restarting(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }

// restartLaunchers kills PID 1 of the launchers from their node, and waits for the new launchers.
func restartLaunchers(h *hit) {
	var pods []corev1.Pod
	for _, w := range h.works {
		pods = append(pods, h.pod(w.pod))
	}
	killFirst(h.t, pods...)
	for _, w := range h.works {
		h.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/"+w.pod, "--timeout=55s")
		h.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].state.running}", "pod/"+w.pod, "--timeout=55s")
		w.said = h.follow(w.pod)
		w.inTheMiddle(fault{})
	}
	for pod, list := range processesOf(h.t, h.f.workerPods(h.space)) {
		n := 0
		for _, p := range list {
			if strings.HasPrefix(p.argv, "python3 ") {
				n++
			}
		}
		if n != 1 {
			h.t.Errorf("%s: %d ranks or sessions, want only those of the second launcher", pod, n)
		}
	}
}

// outlast stops the API server until every worker's lease is over.
func outlast(h *hit) {
	cluster(h.t, "apiserver", "restart-after", fmt.Sprint((shortLease + 15*time.Second).Seconds()))
	h.back = time.Now()
}

// runaways leaves processes behind in every worker that are hard to find: they have their own session, and one has
// an empty environment.
func runaways(j job) []string {
	var sessions strings.Builder
	for i := range j.workers {
		fmt.Fprintf(&sessions, "agent rsh %s 'setsid sleep 1d' & ", j.workerName(i))
	}
	started := fmt.Sprintf("%s sleep 1; ", sessions.String())
	rank := `sh -c 'env -i setsid sleep 86400 & echo started; sleep 86400'`
	switch j.name {
	case "ompi":
		started += "mpirun " + rank + " & "
	case "mpich":
		started += "mpiexec " + rank + " & "
	}
	return []string{"sh", "-c", started + "echo begun; wait"}
}

// awaitRunaways waits until every worker runs all the processes to be left behind.
func awaitRunaways(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		behind := 0
		running := processesOf(t, pods)
		for _, pod := range pods {
			n, want := 0, 3
			if pod.Labels["muster.dev/job"] == "raw" {
				want = 1
			}
			for _, p := range running[pod.Name] {
				if strings.HasPrefix(p.argv, "sleep ") {
					n++
				}
			}
			if n < want {
				behind++
			}
		}
		if behind == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "%d of %d workers do not run all processes yet", behind, len(pods))
	}
}

// abandon replaces run for launchers that do not return, and so cannot report what they saw.
func (row fault) abandon(t *testing.T, f *faults) {
	s := &space{t: t, name: f.s.name}
	f.heal(t)
	works := f.start(s, row)
	awaitRunaways(t, f.workerPods(s))
	h := &hit{space: s, t: t, f: f, works: works, at: time.Now()}
	row.strike(h)
	var table faultTable
	for _, w := range works {
		w.said.drain(time.Minute)
		w.end.log = strings.Join(w.said.seen, "\n")
		table.Cases = append(table.Cases, faultCase{Event: row.event, Load: w.kind, At: h.at, Code: unknownCode, Left: []string{},
			Sees: w.sees() + " (and then its pod is deleted)"})
	}
	row.leftovers(h, &table)
	for i := range table.Cases {
		table.Cases[i].Seconds = time.Since(h.at).Seconds()
	}
	table.record(t, row.event)
}

func forceDelete(h *hit) {
	args := []string{"delete", "--force", "--grace-period=0", "--wait=false"}
	for _, w := range h.works {
		args = append(args, "pod/"+w.pod)
	}
	h.kubectl(args...)
}

// killAndDelete kills the launcher, so that it has no time to end its job.
func killAndDelete(h *hit) {
	var pods []corev1.Pod
	for _, w := range h.works {
		pods = append(pods, h.pod(w.pod))
	}
	killFirst(h.t, pods...)
	forceDelete(h)
}

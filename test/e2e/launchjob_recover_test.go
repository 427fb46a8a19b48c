//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
)

// checkpointed is a launcher's command that waits in its first attempt, and in the
// next one finds the file that the first one wrote.
var checkpointed = []string{"sh", "-c", `if [ -e /tmp/checkpoint ]; then echo "attempt $MUSTER_ATTEMPT finds it"; exec mpirun /opt/muster-test/hello; fi
echo kept >/tmp/checkpoint; exec mpirun sh -c 'echo waits; sleep 600'`}

func withRestarts(n int32) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: n} }
}

// TestLaunchJobRecovers: a worker's pod is deleted, another is evicted: the
// controller makes them anew, and the launcher begins again in place. The eviction
// uses up no restart: there is but one.
func TestLaunchJobRecovers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "deleted", checkpointed, withRestarts(1)), launchJob(t, "evicted", checkpointed, withRestarts(1)))
	for name, take := range map[string]func(pod string){
		"deleted": func(pod string) { s.kubectl("delete", "pod", pod, "--force", "--grace-period=0", "--wait=false") },
		"evicted": s.evict,
	} {
		l := s.follow(name + "-launcher")
		l.until(2*time.Minute, "waits")
		uid := s.pod(name + "-worker-1").UID
		struck := time.Now()
		take(name + "-worker-1")
		l.until(90*time.Second, "attempt 1 finds it")
		t.Logf("%s: %.1f s to the next attempt's first line", name, time.Since(struck).Seconds())
		s.becomes(name, time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
		require.NotEqual(t, uid, s.pod(name+"-worker-1").UID)
		require.Equal(t, name == "evicted", strings.Contains(s.logs(name+"-launcher"), "uses up no restart"))
	}
}

// TestLaunchJobLosesANode: the node of its workers is powered off. Their pods, whose
// end nobody confirms, keep their names; the replacements take others, on the node that is left.
func TestLaunchJobLosesANode(t *testing.T) {
	s := newSpace(t)
	s.launch(launchJob(t, "lost", checkpointed, withRestarts(2), func(j *v1alpha1.LaunchJob) {
		j.Spec.Launcher.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node1"}
		j.Spec.Roles[0].Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{faultNode}}},
			}}},
		}}
	}))
	l := s.follow("lost-launcher")
	l.until(2*time.Minute, "waits")
	require.Equal(t, faultNode, s.pod("lost-worker-1").Spec.NodeName)
	t.Cleanup(func() { cluster(t, "node", "on", faultNode) })
	struck := time.Now()
	cluster(t, "node", "off", faultNode)
	l.until(2*time.Minute, "attempt 1 finds it")
	took := time.Since(struck).Seconds()
	status := s.becomes("lost", time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.EqualValues(t, 0, status.Replacements, "that is no fault of the job")
	require.Equal(t, "node1", s.pod("lost-worker-1-r1").Spec.NodeName)
	const name = "LaunchJob: from a node's loss to the next attempt's first line"
	record(t, figure.Row{Name: name, Op: "<=", Bar: 90}, map[string]figure.Series{name: {Unit: "s", Reduce: "max", Samples: []float64{took}}})
}

// TestLaunchJobScales: kubectl scale changes an elastic job as it runs.
func TestLaunchJobScales(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "elastic", []string{"sh", "-c", `echo "rank $RANK of $WORLD_SIZE"; [ $WORLD_SIZE = 1 ] || sleep 600`}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Elastic = "plain", &v1alpha1.Elastic{Min: 1, Max: 3}
	}))
	l := s.follow("elastic-launcher")
	l.until(2*time.Minute, "0: rank 0 of 2")
	s.kubectl("scale", "lj/elastic", "--replicas=3")
	l.until(time.Minute, "0: rank 0 of 3")
	s.kubectl("scale", "lj/elastic", "--replicas=1")
	l.until(time.Minute, "0: rank 0 of 1")
	s.becomes("elastic", time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	_, err := s.try(time.Minute, "scale", "lj/elastic", "--replicas=4")
	require.ErrorContains(t, err, "workers lies outside of elastic.min and elastic.max")
}

// members is a job without a launcher: Master 1 and Worker 2.
func members(t *testing.T, name, script string, change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
	job := launchJob(t, name, nil)
	job.Spec.Framework, job.Spec.Launcher, job.Spec.Slots = "plain", nil, 1
	worker := job.Spec.Roles[0]
	worker.Template.Spec.Containers[0].Command = []string{"sh", "-c", script}
	master := *worker.DeepCopy()
	master.Name = "master"
	job.Spec.Roles = []v1alpha1.Role{master, worker}
	for _, f := range change {
		f(job)
	}
	return job
}

// TestLaunchJobMembers: three pods and no fourth; a rank that is killed begins again with
// the others, in their pods; one that fails for good is named.
func TestLaunchJobMembers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(
		members(t, "meet", `echo "rank $RANK of $WORLD_SIZE at $MASTER_ADDR"`),
		// The kubelet makes one dollar sign of two.
		members(t, "again", `echo "attempt $MUSTER_ATTEMPT"; [ $RANK.$MUSTER_ATTEMPT != 2.0 ] || kill -KILL $$$$; sleep 1`, withRestarts(1)),
		members(t, "fails", `[ $RANK != 1 ] || { echo no data >&2; exit 7; }; sleep 600`),
	)
	s.becomes("meet", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.ElementsMatch(t, []string{"meet-master-0", "meet-worker-0", "meet-worker-1"}, s.podsOf("meet"))
	for rank, pod := range []string{"meet-master-0", "meet-worker-0", "meet-worker-1"} {
		require.Contains(t, s.logs(pod), fmt.Sprintf("rank %d of 3 at ", rank))
	}
	s.becomes("again", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	for _, pod := range s.podsOf("again") {
		require.Contains(t, s.logs(pod), "attempt 1")
		require.Zero(t, s.pod(pod).Status.ContainerStatuses[0].RestartCount)
	}
	status := s.becomes("fails", 2*time.Minute, "over", inPhase(v1alpha1.PhaseFailed))
	require.EqualValues(t, 7, status.FirstFailure.ExitCode)
	require.EqualValues(t, 1, *status.FirstFailure.Rank)
	require.Equal(t, "fails-worker-0", status.FirstFailure.Pod)
	require.Contains(t, status.FirstFailure.Message, "no data\n")
}

// TestLaunchJobReports: a hang and a restart in the same pods stand in the conditions while
// they last, with the launcher's words, and are Warning events.
func TestLaunchJobReports(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	// Longer than the period of the probe, which has to find the launcher ready once.
	hanging := func(j *v1alpha1.LaunchJob) { j.Spec.HangAfter = new(v1alpha1.Time("15s")) }
	for name, want := range map[string]struct {
		kind, reason, words, line string
		change                    func(*v1alpha1.LaunchJob)
	}{
		"hangs": {v1alpha1.Stalled, "Hang", "sh seems to hang: for 15 s nothing was printed", "sleep 80", hanging},
		"again": {v1alpha1.Restarting, "Restarted", "attempt 2 of 2", "sleep 15; [ $MUSTER_ATTEMPT != 0 ] || exit 137; sleep 30", withRestarts(1)},
	} {
		s.launch(launchJob(t, name, []string{"sh", "-c", want.line}, want.change))
		status := s.becomes(name, 2*time.Minute, want.kind, func(status v1alpha1.LaunchJobStatus) bool {
			c := meta.FindStatusCondition(status.Conditions, want.kind)
			return c != nil && c.Status == metav1.ConditionTrue && c.Reason == want.reason && status.Phase == v1alpha1.PhaseRunning
		})
		require.Contains(t, status.Message, want.words)
		require.Contains(t, s.kubectl("get", "events", "--field-selector", "type=Warning,reason="+want.reason+",involvedObject.name="+name), want.words)
		status = s.becomes(name, 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
		require.False(t, meta.IsStatusConditionTrue(status.Conditions, want.kind))
	}
}

// TestLaunchJobOutlivesTheAPIServer: it is killed while the job runs.
func TestLaunchJobOutlivesTheAPIServer(t *testing.T) {
	s := newSpace(t)
	s.launch(launchJob(t, "outage", []string{"mpirun", "sh", "-c", "echo waits; sleep 15; exec /opt/muster-test/hello"}))
	s.follow("outage-launcher").until(2*time.Minute, "waits")
	cluster(t, "apiserver", "restart-after", outagePause)
	status := s.becomes("outage", 90*time.Second, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.EqualValues(t, 1, status.Attempt)
	require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs("outage-launcher"), job{name: "outage", workers: 2}))
}

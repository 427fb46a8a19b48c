package reports

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// failedOnce is the termination message of a launcher whose agent restarted the command in place.
const failedOnce = "the command ended (exit code 0)\n" +
	"earlier attempt 0 (exit code 3): worker pi-worker-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3\n" +
	"\tTraceback: boom\n\tKeyError: x\n" +
	"earlier attempt 1 (exit code 76): worker pi-worker-0 lost: evicted\n"

func TestEarlier(t *testing.T) {
	e := Read(failedOnce, "pi-launcher")
	require.Equal(t, "the command ended (exit code 0)", e.Words)
	require.Equal(t, []v1alpha1.FailedAttempt{
		{Restart: 0, FirstFailure: v1alpha1.FirstFailure{Rank: new(int32(1)), Pod: "pi-worker-1", ExitCode: 3,
			Message: "worker pi-worker-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3\nTraceback: boom\nKeyError: x"}},
		{Restart: 1, FirstFailure: v1alpha1.FirstFailure{Pod: "pi-worker-0", ExitCode: 76, Message: "worker pi-worker-0 lost: evicted"}},
	}, e.Before)
	e = Read("rank 3 on pi-worker-1 exited with 7\nearlier attempts were better\n", "pi-launcher")
	require.Equal(t, "rank 3 on pi-worker-1 exited with 7\nearlier attempts were better", e.Words)
	require.Empty(t, e.Before)
}

func TestMostFailedAttempts(t *testing.T) {
	var s v1alpha1.LaunchJobStatus
	for n := range int32(20) {
		s.Attempt = n + 1
		Keep(&s, nil, &v1alpha1.FirstFailure{ExitCode: 1})
	}
	require.Len(t, s.FailedAttempts, mostAttempts)
	require.Equal(t, int32(1), s.FailedAttempts[0].Attempt)
	require.Equal(t, int32(20), s.FailedAttempts[mostAttempts-1].Attempt)
}

// TestGoodputOfAnOlderAgent checks that a launcher without such a line leaves the status as it was.
func TestGoodputOfAnOlderAgent(t *testing.T) {
	status := v1alpha1.LaunchJobStatus{Goodput: "60.4%", Spent: []v1alpha1.TimeSpent{{Class: "productive", Seconds: 60}}}
	want := *status.DeepCopy()
	Spend(&status, Read("the command ended (exit code 0)\n", "pi-launcher").Spent)
	require.Equal(t, want, status)
}

// TestLastLine checks that the agent's last sentence in a log comes before what programs print.
func TestLastLine(t *testing.T) {
	require.Equal(t, "rank 1 exited with 3", LastLine("step 1\nagent: starting\nagent: rank 1 exited with 3\nbye"))
	require.Equal(t, "bye", LastLine("step 1\nbye"))
}

// TestTrouble checks that the newest words of the launcher's own probe count.
func TestTrouble(t *testing.T) {
	said := func(pod, message string, at int64) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{UID: types.UID(pod)}, Message: message, LastTimestamp: metav1.NewTime(time.Unix(at, 0))}
	}
	const failed = "Readiness probe failed: agent: ready: "
	for want, events := range map[string][]corev1.Event{
		"":                  {said("u-1", "Pulled image", 3), said("u-2", failed+"no progress", 3)},
		"no progress":       {said("u-1", failed+"no progress", 3), said("u-1", failed+"attempt 2 of 3", 2)},
		"attempt 2 of 3":    {said("u-1", failed+"no progress", 2), said("u-1", failed+"attempt 2 of 3", 3)},
		"failed line: loss": {said("u-1", `Readiness probe failed: {"level":"error","msg":"ready: failed line: loss"}`, 3)},
	} {
		words := Trouble(events, "u-1")
		require.Equal(t, want, words)
		require.Equal(t, want == "attempt 2 of 3", Restarted(words), words)
		require.Equal(t, want == "no progress" || want == "failed line: loss", Stalled(words), words)
	}
}

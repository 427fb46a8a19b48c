package census

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

func TestCensus(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	job := func(name, phase, reason string, started time.Duration) *v1alpha1.LaunchJob {
		j := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name, CreationTimestamp: metav1.Time{Time: now.Add(-time.Hour)}}}
		j.Status.Phase, j.Status.Reason = phase, reason
		if started > 0 {
			j.Status.StartTime = &metav1.Time{Time: now.Add(-started)}
		}
		return j
	}
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	reader := fakeapi.New(scheme).WithObjects(
		job("a", v1alpha1.PhaseWaiting, "Unschedulable", 90*time.Second), job("b", v1alpha1.PhaseWaiting, "Unschedulable", 30*time.Second),
		job("c", v1alpha1.PhaseWaiting, "ImagePull", 10*time.Second), job("new", "", "", 0),
		job("d", v1alpha1.PhaseRunning, "", time.Second), job("e", v1alpha1.PhaseFailed, "Exited", time.Second)).Build()
	c := New()
	require.Zero(t, testutil.CollectAndCount(c), "a replica that does not lead counts nothing")
	c.Begin(reader, testclock.NewFakePassiveClock(now))
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP muster_jobs LaunchJobs by phase.
# TYPE muster_jobs gauge
muster_jobs{phase="Failed"} 1
muster_jobs{phase="Restarting"} 0
muster_jobs{phase="Running"} 1
muster_jobs{phase="Succeeded"} 0
muster_jobs{phase="Suspended"} 0
muster_jobs{phase="Waiting"} 4
# HELP muster_jobs_longest_wait_seconds Seconds since the start of the LaunchJob that has waited longest, by reason.
# TYPE muster_jobs_longest_wait_seconds gauge
muster_jobs_longest_wait_seconds{reason="ImagePull"} 10
muster_jobs_longest_wait_seconds{reason="Starting"} 3600
muster_jobs_longest_wait_seconds{reason="Unschedulable"} 90
# HELP muster_jobs_waiting LaunchJobs that wait, by reason.
# TYPE muster_jobs_waiting gauge
muster_jobs_waiting{reason="ImagePull"} 1
muster_jobs_waiting{reason="Starting"} 1
muster_jobs_waiting{reason="Unschedulable"} 2
`)))
}

// TestWaitInAQueue checks that a job which Kueue evicted, or which was suspended, has not waited since its creation.
func TestWaitInAQueue(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	since := func(kind string, status metav1.ConditionStatus, ago time.Duration) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, LastTransitionTime: metav1.Time{Time: now.Add(-ago)}}
	}
	for name, row := range map[string]struct {
		conditions []metav1.Condition
		want       time.Duration
	}{
		"never admitted": {nil, 72 * time.Hour},
		"evicted":        {[]metav1.Condition{since(v1alpha1.Admitted, metav1.ConditionFalse, time.Minute)}, time.Minute},
		"resumed":        {[]metav1.Condition{since(v1alpha1.Suspended, metav1.ConditionFalse, time.Minute)}, time.Minute},
		"suspended while it ran, and resumed": {[]metav1.Condition{since(v1alpha1.Admitted, metav1.ConditionFalse, 2*time.Hour),
			since(v1alpha1.Suspended, metav1.ConditionFalse, time.Minute)}, time.Minute},
		"resumed, and evicted later": {[]metav1.Condition{since(v1alpha1.Suspended, metav1.ConditionFalse, 2*time.Hour),
			since(v1alpha1.Admitted, metav1.ConditionFalse, time.Minute)}, time.Minute},
		"another condition": {[]metav1.Condition{since(v1alpha1.WorkersReady, metav1.ConditionFalse, time.Minute)}, 72 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			j := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi", CreationTimestamp: metav1.Time{Time: now.Add(-72 * time.Hour)}}}
			j.Status.Phase, j.Status.Reason, j.Status.Conditions = v1alpha1.PhaseWaiting, "Preempted", row.conditions
			c := New()
			c.Begin(fakeapi.New(scheme).WithObjects(j).Build(), testclock.NewFakePassiveClock(now))
			require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(fmt.Sprintf(`
# HELP muster_jobs_longest_wait_seconds Seconds since the start of the LaunchJob that has waited longest, by reason.
# TYPE muster_jobs_longest_wait_seconds gauge
muster_jobs_longest_wait_seconds{reason="Preempted"} %v
`, row.want.Seconds())), "muster_jobs_longest_wait_seconds"))
		})
	}
}

// TestReasonsAreBounded checks that odd reasons cannot fill a database.
func TestReasonsAreBounded(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	b := fakeapi.New(scheme)
	for i := range 200 {
		j := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: fmt.Sprint("j", i)}}
		j.Status.Phase, j.Status.Reason = v1alpha1.PhaseWaiting, fmt.Sprint("R", i)
		b.WithObjects(j)
	}
	c := New()
	c.Begin(b.Build(), testclock.NewFakePassiveClock(time.Now()))
	require.Equal(t, mostReasons+1, testutil.CollectAndCount(c, "muster_jobs_waiting"))
	require.NoError(t, prometheus.NewPedanticRegistry().Register(c))
}

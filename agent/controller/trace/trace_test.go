package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/tracecontext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

func getenv(name string) string {
	return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}[name]
}

// aJob returns a job whose launcher has these variables.
func aJob(env ...corev1.EnvVar) *v1alpha1.LaunchJob {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "lab", UID: "u-1", CreationTimestamp: at(0)}}
	job.Spec.Launcher = &v1alpha1.Launcher{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Env: env}}}}}
	return job
}

// life is the record of a job of two attempts, event by event.
var life = []v1alpha1.TimelineEvent{
	{Time: at(1), Kind: "suspended", Attempt: 1},
	{Time: at(5), Kind: "resumed", Attempt: 1},
	{Time: at(6), Kind: "pod-created", Attempt: 1},
	{Time: at(8), Kind: "waiting", Attempt: 1, Cause: "GangUnschedulable", Detail: "1/3 pods fit"},
	{Time: at(20), Kind: "pod-scheduled", Attempt: 1},
	{Time: at(25), Kind: "container-started", Attempt: 1},
	{Time: at(30), Kind: "command-started", Attempt: 1},
	{Time: at(90), Kind: "run-ended", Attempt: 1, Count: 137, Cause: "Failed"},
	{Time: at(92), Kind: "pod-created", Attempt: 2},
	{Time: at(95), Kind: "pod-scheduled", Attempt: 2},
	{Time: at(99), Kind: "container-started", Attempt: 2},
	{Time: at(199), Kind: "run-ended", Attempt: 2, Cause: "Completed"},
}

// told lives the life of a job, status by status, with a new Tracer for each change, and returns the spans.
func told(t *testing.T, job *v1alpha1.LaunchJob) (all []tracecontext.Span) {
	t.Helper()
	tell := func(old, status *v1alpha1.LaunchJobStatus) {
		tracer := New(getenv, func(line []byte) {
			var s tracecontext.Span
			require.NoError(t, json.Unmarshal(line, &s))
			all = append(all, s)
		})
		tracer.Tell(job, old, status)
		tracer.Tell(job, status, status)
	}
	old := &v1alpha1.LaunchJobStatus{}
	for i := range life {
		status := &v1alpha1.LaunchJobStatus{Attempt: life[i].Attempt, Timeline: &v1alpha1.Timeline{Events: life[:i+1]}}
		if i > 8 { // the record is folded
			status.Timeline.Events, status.Timeline.OmittedAttempts = life[8:i+1], 1
		}
		if i == len(life)-1 {
			end := at(200)
			status.CompletionTime, status.Phase, status.Reason = &end, v1alpha1.PhaseSucceeded, "Completed"
		}
		tell(old, status)
		old = status
	}
	return all
}

// TestEachSpanIsToldOnce follows a job with a controller that restarts after each change of the status.
func TestEachSpanIsToldOnce(t *testing.T) {
	all := told(t, aJob())
	var got []string
	ids := map[string]bool{}
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %d-%d %s", s.Name, int(s.From.Sub(noon).Seconds()), int(s.To.Sub(noon).Seconds()), s.Failed))
		ids[s.Self] = true
		require.Equal(t, "lab", s.Texts[attrNamespace])
	}
	require.Equal(t, []string{"queued 0-20 ", "pods 6-90 Failed: exit code 137", "queued 92-95 ", "pods 92-199 ", "job 0-200 "}, got)
	require.Len(t, ids, len(all))
	root := all[len(all)-1]
	require.Empty(t, root.Parent)
	for _, s := range all[:len(all)-1] {
		require.Equal(t, root.Self, s.Parent)
	}
	require.Equal(t, []tracecontext.Mark{{At: noon.Add(8 * time.Second), Name: "GangUnschedulable", Detail: "1/3 pods fit"}}, all[0].Marks)
	require.Equal(t, all, told(t, aJob()), "ids follow from the job")

	env := New(getenv, nil).Env(aJob(), 2)
	require.Equal(t, []corev1.EnvVar{{Name: "TRACEPARENT", Value: all[3].Self}}, env, "the launcher's spans are below its pods")
}

// TestTheUsersTrace checks that a TRACEPARENT in the template of the launcher puts the job into that trace.
func TestTheUsersTrace(t *testing.T) {
	all := told(t, aJob(corev1.EnvVar{Name: "TRACEPARENT", Value: theirs}, corev1.EnvVar{Name: "TRACESTATE", Value: "a=b"}))
	root := all[len(all)-1]
	require.Equal(t, theirs, root.Parent)
	require.Equal(t, theirs[:35], root.Self[:35])
	require.Equal(t, "a=b", root.State)
	bad := told(t, aJob(corev1.EnvVar{Name: "TRACEPARENT", Value: "bad"}))
	require.Equal(t, told(t, aJob()), bad)
}

func TestWithoutACollectorNothingIsSent(t *testing.T) {
	none := New(func(string) string { return "" }, nil)
	require.Nil(t, none)
	require.Nil(t, none.Env(aJob(), 1))
	end := at(9)
	none.Tell(aJob(), &v1alpha1.LaunchJobStatus{}, &v1alpha1.LaunchJobStatus{CompletionTime: &end})
	unsampled := New(func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "always_off"}[name]
	}, func([]byte) { t.Error("sent") })
	unsampled.Tell(aJob(), &v1alpha1.LaunchJobStatus{}, &v1alpha1.LaunchJobStatus{CompletionTime: &end})
	require.True(t, strings.HasSuffix(unsampled.Env(aJob(), 1)[0].Value, "-00"))
}

// said collects what is logged.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) log() logr.Logger {
	return funcr.New(func(_, args string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, args)
	}, funcr.Options{})
}

func (s *said) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// TestExporterGetsEachLine checks that the program gets each line in order, also after a restart,
// and that the end of the controller waits for it.
func TestExporterGetsEachLine(t *testing.T) {
	var s said
	path := filepath.Join(t.TempDir(), "got")
	e := &Exporter{command: []string{"/bin/sh", "-c", `[ -e ` + path + ` ] || { echo 'no luck' >&2; : >` + path + `; exit 3; }; exec cat >>` + path},
		log: s.log(), queue: make(chan []byte, mostQueued), again: time.Millisecond}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- e.Start(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(s.all(), "exit status 3") }, 10*time.Second, time.Millisecond)
	require.Contains(t, s.all(), "no luck")
	var want strings.Builder
	for i := range 500 {
		e.Send(fmt.Appendln(nil, i))
		fmt.Fprintln(&want, i)
	}
	require.Eventually(t, func() bool {
		got, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(got), "0\n")
	}, 10*time.Second, time.Millisecond)
	stop()
	require.NoError(t, <-over)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got))
}

func TestQueueIsBounded(t *testing.T) {
	var s said
	e := &Exporter{log: s.log(), queue: make(chan []byte, 2)}
	for range 3 {
		e.Send([]byte("x\n"))
	}
	require.Contains(t, s.all(), "a span was dropped")
	e.command, e.again = []string{filepath.Join(t.TempDir(), "missing")}, time.Hour
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- e.Start(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(s.all(), "no such file") }, 10*time.Second, time.Millisecond)
	stop()
	require.NoError(t, <-over)
}

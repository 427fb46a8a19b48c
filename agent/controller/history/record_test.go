package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// aPod returns a pod with these times in seconds after noon; below 0: it has not come so far.
func aPod(name string, created, scheduled, started int) Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(after(created))}}
	if scheduled >= 0 {
		p.Spec.NodeName = "node-of-" + name
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(after(scheduled))}}
	}
	if started >= 0 {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(after(started))}}}}
	}
	return Pod{Pod: p, Container: "main", Launcher: name == "l"}
}

// lines returns a record as lines: seconds, attempt, kind, and what else there is.
func lines(t *v1alpha1.Timeline) (all []string) {
	if t == nil {
		return nil
	}
	for _, e := range t.Events {
		all = append(all, strings.TrimSpace(fmt.Sprint(int(e.Time.Sub(noon).Seconds()), " ", e.Attempt, ".", e.Restart, " ", e.Kind, " ", e.Pod, " ", e.Count, " ", e.Cause)))
	}
	return all
}

// TestPodsReachTheirStages checks that each stage has the time of the last pod that the job needs. A view adds
// nothing twice, and a stage is not noted before it is reached.
func TestPodsReachTheirStages(t *testing.T) {
	v := View{Now: after(1), Attempt: 1, Wanted: 3, Pods: []Pod{aPod("l", 1, -1, -1), aPod("w-0", 0, -1, -1)}}
	line := Next(nil, v)
	require.Nil(t, line)
	v.Pods = append(v.Pods, aPod("w-1", 2, -1, -1))
	v.Reason, v.Message = "Unschedulable", "w-1: 0/4 nodes are available"
	line = Next(line, v)
	require.Equal(t, []string{"2 1.0 pod-created w-1 3", "1 1.0 waiting  0 Unschedulable"}, lines(line))
	require.Equal(t, line, Next(line, v))
	v.Pods, v.Reason = []Pod{aPod("l", 1, 3, 5), aPod("w-0", 0, 3, 5), aPod("w-1", 2, 30, -1)}, ""
	line = Next(line, v)
	v.Pods[2] = aPod("w-1", 2, 30, 35)
	line = Next(line, v)
	want := []string{"2 1.0 pod-created w-1 3", "1 1.0 waiting  0 Unschedulable", "30 1.0 pod-scheduled w-1 3", "5 1.0 launcher-started l 0", "35 1.0 container-started w-1 3"}
	require.Equal(t, want, lines(line))
	v.Pods[1] = aPod("w-0", 40, 41, 42)
	require.Equal(t, want, lines(Next(line, v)), "a replacement of a pod that ran is no start of the job")
	v.Pods = append(v.Pods, aPod("w-2", 50, 60, 70))
	require.Equal(t, want, lines(Next(line, v)), "the job needs three pods")
}

func TestSuspension(t *testing.T) {
	v := View{Now: after(1), Attempt: 1, Wanted: 1, Suspended: true}
	line := Next(nil, v)
	line = Next(line, v)
	v.Now, v.Suspended = after(10), false
	line = Next(line, v)
	v.Pods = []Pod{aPod("l", 11, -1, -1)}
	line = Next(line, v)
	v.Now, v.Suspended, v.Pods = after(20), true, nil
	line = Next(line, v)
	v.Now, v.Suspended, v.Pods = after(30), false, []Pod{aPod("l", 31, 32, -1)}
	line = Next(line, v)
	require.Equal(t, line, Next(line, v))
	require.Equal(t, []string{"1 1.0 suspended  0", "10 1.0 resumed  0", "11 1.0 pod-created l 1", "20 1.0 suspended  0", "30 1.0 resumed  0", "31 1.0 pod-created l 1",
		"32 1.0 pod-scheduled l 1"}, lines(line))
	for i := range 100 {
		v.Now, v.Suspended = after(100+i), i%2 == 0
		line = Next(line, v)
	}
	require.LessOrEqual(t, len(line.Events), mostEvents)
	require.Zero(t, line.OmittedAttempts, "nothing ran")
}

// TestAPullIsNoted checks that events of nodes add the pull of an image, if it was so slow that they were read.
func TestAPullIsNoted(t *testing.T) {
	of := func(uid, reason string, at int) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{UID: types.UID(uid)}, Reason: reason, Message: reason + " image", FirstTimestamp: metav1.NewTime(after(at))}
	}
	v := View{Now: after(9), Attempt: 1, Wanted: 1, Pods: []Pod{aPod("l", 0, 1, -1)}, Events: []corev1.Event{of("x", "Pulling", 1), of("l", "Pulling", 2), of("l", "Started", 3)}}
	line := Next(nil, v)
	v.Pods, v.Events = []Pod{aPod("l", 0, 1, 20)}, append(v.Events, of("l", "Pulled", 18))
	line = Next(line, v)
	require.Equal(t, []string{"0 1.0 pod-created l 1", "1 1.0 pod-scheduled l 1", "2 1.0 image-pulling l 0", "20 1.0 container-started l 1", "20 1.0 launcher-started l 0",
		"18 1.0 image-pulled  0"}, lines(line))
}

func TestReasonsAreFew(t *testing.T) {
	v, line := View{Attempt: 1, Wanted: 1}, (*v1alpha1.Timeline)(nil)
	for i := range 40 {
		v.Now, v.Reason, v.Message = after(i), fmt.Sprint("Reason", i/2), strings.Repeat("ü", 500)
		line = Next(line, v)
	}
	require.Equal(t, []string{"32 1.0 waiting  0 Reason16", "34 1.0 waiting  0 Reason17", "36 1.0 waiting  0 Reason18", "38 1.0 waiting  0 Reason19"}, lines(line))
	v.Reason = "ContainerCreating"
	require.Equal(t, line, Next(line, v), "every start has this reason for a while")
}

// TestTheRecordIsBounded checks jobs of 1,000 restarts, of their pods or of their launcher. The record stays
// short, has the last attempt, and says how many attempts it leaves out.
func TestTheRecordIsBounded(t *testing.T) {
	long := strings.Repeat("n", 250)
	var line *v1alpha1.Timeline
	v := View{Wanted: 1, Reason: "Unschedulable", Message: strings.Repeat("m", 500)}
	for i := range 1000 {
		at := 100 * i
		pod := aPod("l", at, at+1, at+2)
		pod.Spec.NodeName = long
		v.Attempt, v.Now, v.Pods, v.End = int32(i+1), after(at+1), []Pod{pod}, nil
		line = Next(line, v)
		v.Now, v.End = after(at+90), &End{At: after(at + 90), Code: 3, Reason: "Failed", Attempts: []event.Event{
			{Time: after(at + 5), Kind: event.CommandStarted}, {Time: after(at + 80), Kind: event.AttemptEnded, Count: 3, Cause: "failed"},
		}}
		line = Next(line, v)
	}
	text, err := json.Marshal(line)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), mostBytes+20)
	require.LessOrEqual(t, len(line.Events), mostEvents)
	last := line.Events[len(line.Events)-1]
	require.Equal(t, []string{"99980 1000.0 attempt-ended  3 failed", "99990 1000.0 run-ended  3 Failed"}, lines(line)[len(line.Events)-2:])
	first := line.Events[0].Attempt
	require.EqualValues(t, first-1, line.OmittedAttempts, "each attempt that is not there is counted once")
	require.EqualValues(t, 1000, last.Attempt)

	end := &End{At: after(99999), Omitted: 990}
	for i := 990; i <= 1000; i++ {
		end.Attempts = append(end.Attempts, event.Event{Time: after(100 * i), Kind: event.CommandStarted, Attempt: i}, event.Event{Time: after(100*i + 90), Kind: event.AttemptEnded, Attempt: i})
	}
	line = Next(nil, View{Now: after(99999), Attempt: 1, Wanted: 1, Pods: []Pod{aPod("l", 0, 1, 2)}, End: end})
	require.Equal(t, "99999 1.1000 run-ended  0", lines(line)[len(line.Events)-1])
	require.EqualValues(t, line.Events[0].Restart, line.OmittedAttempts-map[bool]int32{true: 1}[line.Events[0].Restart == 0])
}

//go:build linux

package launch

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// recorded returns a runner that records events, and a function that returns these as words.
func recorded(t *testing.T) (*runner, func() []string) {
	t.Helper()
	log, err := record.Open(t.TempDir(), "a")
	require.NoError(t, err)
	t.Cleanup(log.Close)
	r := &runner{means: means{record: log}, tally: tally.New()}
	return r, func() (words []string) {
		log.Close()
		_, err := log.Each(func(e event.Event) { words = append(words, fmt.Sprintf("%s %s %s", e.Kind, e.Worker, e.Detail)) })
		require.NoError(t, err)
		return words
	}
}

// TestEventsThatCannotBeRecorded checks that a run does not end with 0 without the file of --events, whatever keeps it
// from recording events.
func TestEventsThatCannotBeRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		dir  string
		want int
	}{"recorded": {t.TempDir(), 0}, "no directory": {filepath.Join(t.TempDir(), "no"), names.ExitOutput}} {
		log, err := record.Open(c.dir, "a")
		require.Equal(t, c.want == 0, err == nil, name)
		var said bytes.Buffer
		r := &runner{means: means{record: log, voice: &console.Voice{Out: &said}}}
		path := filepath.Join(t.TempDir(), "events")
		r.endRecord(path, 0, "")
		code, _ := r.settleCode(0, "")
		require.Equal(t, c.want, code, "%s: %s", name, &said)
		if c.want == 0 {
			require.FileExists(t, path)
		} else {
			require.Contains(t, said.String(), "write events: record events: ")
		}
	}
}

// TestBrokenDeviceIsRecorded checks that a failed attempt records the broken device of the worker where
// it failed, from the output or from the status of the pod.
func TestBrokenDeviceIsRecorded(t *testing.T) {
	sick := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w-1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{AllocatedResourcesStatus: []corev1.ResourceStatus{
		{Name: "nvidia.com/gpu", Resources: []corev1.ResourceHealth{{ResourceID: "gpu-0", Health: corev1.ResourceHealthStatusUnhealthy}}},
	}}}}}
	const ecc = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
	for name, row := range map[string]struct {
		code int
		tail []string
		pods []*corev1.Pod
		want []string
	}{
		"the output says so":       {1, []string{"step 4", ecc}, nil, []string{"broken-device w-1 " + ecc}},
		"the pod says so":          {1, nil, []*corev1.Pod{sick}, []string{"broken-device w-1 a device is Unhealthy in the status of the pod"}},
		"nothing says so":          {1, []string{"step 4"}, nil, nil},
		"the attempt did not fail": {0, nil, []*corev1.Pod{sick}, nil},
	} {
		r, words := recorded(t)
		r.shot = rendezvous.Snapshot{Pods: row.pods}
		f := group.Failure{End: group.End{Exit: wire.ExitRecord{Code: row.code}}, Label: "rank 1", Worker: "w-1", Tail: row.tail}
		result := group.Result{Code: f.Code(), Cause: &f}
		if row.code == 0 {
			result = group.Result{}
		}
		a := &attempt{plan: plan.Plan{Hosts: []plan.Host{{Name: "w-0"}, {Name: "w-1"}}, Processes: []plan.Process{{Worker: 0}, {Worker: 1}}}, grouped: grouped{result: result}, watcher: &supervise.Supervisor{}}
		a.verdict = verdict.JudgeGroup(0, groupEnd(result), nil)
		require.Equal(t, len(row.want) > 0, r.causeOf(a) == "device", name)
		require.Equal(t, row.want, words(), name)
	}
}

// TestMemoryKillIsRecorded checks that each worker has one event in an attempt, whichever source tells
// of its memory kills first.
func TestMemoryKillIsRecorded(t *testing.T) {
	r, words := recorded(t)
	r.hearStarved()
	r.tally.Called("w-1", "s", nil)
	r.tally.Report("w-1", wire.ReportRecord{Session: "s", Kind: wire.ReportMemory, AgoMillis: 3600_000})
	noteExit(r.tally, "w-1", "s", wire.ExitRecord{Code: 137, Signal: 9, OOM: 1}, nil)
	noteExit(r.tally, "w-2", "t", wire.ExitRecord{Code: 137, Signal: 9, OOM: 2}, nil)
	r.tally.Again()
	r.tally.Starve("w-1")
	require.Equal(t, []string{"out-of-memory w-1 ", "out-of-memory w-2 ", "out-of-memory w-1 "}, words())
	var times []time.Time
	_, err := r.record.Each(func(e event.Event) { times = append(times, e.Time) })
	require.NoError(t, err)
	require.WithinDuration(t, times[1].Add(-time.Hour), times[0], time.Minute, "the worker tells how long ago it was")
}

// TestTheEndOfARankIsRecorded checks that the end of a process is that of its rank, also if it was added to
// the group for a worker that joined.
func TestTheEndOfARankIsRecorded(t *testing.T) {
	r, words := recorded(t)
	r.recordRankEnd("w-0", "rank 0", group.End{})
	r.recordRankEnd("w-5", "rank 5", group.End{Process: 1, Exit: wire.ExitRecord{Code: 3}})
	r.recordRankEnd("w-0", "ps 0", group.End{Process: 2})
	require.Equal(t, []string{"rank-ended w-0 exited with 0", "rank-ended w-5 exited with 3", "rank-ended w-0 ps 0 exited with 0"}, words())
	var ranks []int
	_, err := r.record.Each(func(e event.Event) { ranks = append(ranks, e.Rank) })
	require.NoError(t, err)
	require.Equal(t, []int{0, 5, event.NoRank}, ranks)
}

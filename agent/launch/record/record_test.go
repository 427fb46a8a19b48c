//go:build linux

package record

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/rendezvous"
)

func open(t *testing.T, dir, id string) *Log {
	t.Helper()
	l, err := Open(dir, id)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// read closes the log and returns its events.
func read(t *testing.T, l *Log) []event.Event {
	t.Helper()
	l.Close()
	text, err := l.Text()
	require.NoError(t, err)
	all, skipped, err := event.Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Zero(t, skipped)
	return all
}

func TestEventsReachTheFile(t *testing.T) {
	l := open(t, t.TempDir(), "a")
	l.Note(event.RunStarted, "v1", 3)
	l.Begin(2)
	l.Worker(event.Linked, "w-0", "n", "")
	l.Rank(time.Unix(7, 0), event.RankEnded, "w-0", 0, strings.Repeat("ü\n", 1000))
	all := read(t, l)
	require.Len(t, all, 3)
	require.Equal(t, 3, all[0].Count)
	require.Equal(t, event.Event{Time: all[1].Time, Kind: event.Linked, Attempt: 2, Worker: "w-0", Node: "n", Rank: event.NoRank}, all[1])
	require.Equal(t, time.Unix(7, 0).UTC(), all[2].Time)
	require.LessOrEqual(t, len(all[2].Detail), mostDetail)
	require.NotContains(t, all[2].Detail, "\n")
	l.Note(event.RunEnded, "", 0)
	l.Close()
	require.Len(t, read(t, l), 3, "an event after Close is ignored")
}

// TestEachReadsARunThatGoesOn checks that events are in the file after Sync, and that both segments are
// read.
func TestEachReadsARunThatGoesOn(t *testing.T) {
	l := open(t, t.TempDir(), "a")
	kinds := func() (all []event.Kind) {
		skipped, err := l.Each(func(e event.Event) { all = append(all, e.Kind) })
		require.NoError(t, err)
		require.Zero(t, skipped)
		return all
	}
	require.Empty(t, kinds())
	l.Note(event.Restart, "", 1)
	l.Sync()
	require.Equal(t, []event.Kind{event.Restart}, kinds())
	require.NoError(t, os.WriteFile(oldOf(l.path), []byte(`{"time":"2026-03-01T12:00:00Z","kind":"run-started"}`+"\n"), 0o600))
	l.Note(event.RunEnded, "", 0)
	l.Close()
	l.Sync()
	require.Equal(t, []event.Kind{event.RunStarted, event.Restart, event.RunEnded}, kinds())
}

// TestEventsOfAMomentAreWrittenAtOnce checks that an event waits for more, and that Close does not.
func TestEventsOfAMomentAreWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, t.TempDir(), "a")
		lines := func() int {
			text, err := Load(l.path)
			require.NoError(t, err)
			return bytes.Count(text, []byte("\n"))
		}
		for _, begin := range []int{0, 2} {
			l.Note(event.Stalled, "", 0)
			time.Sleep(gatherTime - 1)
			l.Note(event.Stalled, "", 0)
			synctest.Wait()
			require.Equal(t, begin, lines())
			time.Sleep(gatherTime)
			synctest.Wait()
			require.Equal(t, begin+2, lines())
		}
		began := time.Now()
		l.Note(event.RunEnded, "", 0)
		synctest.Wait()
		l.Close()
		require.Equal(t, 5, lines())
		require.Zero(t, time.Since(began))
	})
}

// TestSyncDoesNotWaitForAHungDisk checks that Sync gives up.
func TestSyncDoesNotWaitForAHungDisk(t *testing.T) {
	l := idle(t)
	began := time.Now()
	l.Sync()
	require.Less(t, time.Since(began), 5*syncTime)
}

func TestNilLogRecordsNothing(t *testing.T) {
	var l *Log
	l.Begin(1)
	l.Note(event.RunStarted, "", 0)
	l.Pods(rendezvous.Snapshot{}, rendezvous.Containers{})
	l.Reasons(nil)
	require.Nil(t, l.First("w", 0, ""))
	require.Equal(t, nopCloser{io.Discard}, l.First("w", 0, "").Hear(nopCloser{io.Discard}))
	l.Sync()
	l.Close()
	text, err := l.Text()
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = l.Each(func(event.Event) { require.Fail(t, "it has no events") })
	require.NoError(t, err)
}

// idle returns a log whose writer does not run, as if the disk were slow.
func idle(t *testing.T) *Log {
	t.Helper()
	l := &Log{path: pathOf(t.TempDir(), "a"), most: segment, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	var err error
	l.file, err = create(l.path)
	require.NoError(t, err)
	t.Cleanup(func() { l.file.Close() })
	return l
}

// TestFullQueueDropsAndCounts checks that adding never blocks and keeps the queue small, and that the
// file says how many events are missing.
func TestFullQueueDropsAndCounts(t *testing.T) {
	l := idle(t)
	const added = 20000
	for range added {
		l.Worker(event.Linked, "worker-of-a-long-name-0", "a-node-with-a-long-name", "")
	}
	require.Less(t, len(l.pending), mostPending)
	l.flush()
	text, err := Load(l.path)
	require.NoError(t, err)
	all, _, err := event.Read(bytes.NewReader(text))
	require.NoError(t, err)
	last := all[len(all)-1]
	require.Equal(t, event.Dropped, last.Kind)
	require.Equal(t, added, len(all)-1+last.Count)
}

// TestFullDiskIsCounted checks that events that could not be written are counted, and that the log
// goes on when there is space again.
func TestFullDiskIsCounted(t *testing.T) {
	l := idle(t)
	good := l.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	l.file = full
	for range 2 {
		l.Note(event.Stalled, "", 0)
		l.Note(event.Stalled, "", 0)
		l.flush()
	}
	l.file = good
	l.Note(event.RunEnded, "", 0)
	l.flush()
	text, err := Load(l.path)
	require.NoError(t, err)
	all, _, err := event.Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, 4, all[1].Count)
}

// TestFilesAreBounded checks that a run keeps its newest events in at most two segments.
func TestFilesAreBounded(t *testing.T) {
	l := idle(t)
	l.most = 1000
	for i := range 100 {
		l.Note(event.Stalled, "", i+1)
		l.flush()
	}
	for _, path := range []string{l.path, oldOf(l.path)} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), l.most)
	}
	text, err := Load(l.path)
	require.NoError(t, err)
	all, skipped, err := event.Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Zero(t, skipped)
	require.Greater(t, len(all), 10)
	for i, e := range all {
		require.Equal(t, 100-len(all)+i+1, e.Count, "the newest events, without a gap")
	}
}

func TestTornLineEndsWithTheNextOne(t *testing.T) {
	l := idle(t)
	l.Note(event.RunStarted, "", 0)
	l.flush()
	_, err := l.file.WriteString(`{"time":"20`)
	require.NoError(t, err)
	l.torn = true
	l.Note(event.RunEnded, "", 0)
	l.flush()
	text, err := Load(l.path)
	require.NoError(t, err)
	all, skipped, err := event.Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, 1, skipped)
	require.Equal(t, event.RunEnded, all[1].Kind)
}

// TestOldRunsAreRemoved checks that the files of the newest runs stay, and those of all that still
// live.
func TestOldRunsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MUSTER_DIR", dir)
	newest := func(want string, live bool) {
		path, until := Newest()
		require.Equal(t, want, path)
		require.Equal(t, live, time.Since(until) < 30*time.Second)
	}
	newest("", false)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "events-x.txt"), nil, 0o600))
	live := open(t, dir, "live")
	for i, id := range []string{"b", "c", "d", "e"} {
		l := open(t, dir, id)
		l.Close()
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		require.NoError(t, os.Chtimes(l.path, at, at))
		require.NoError(t, os.WriteFile(oldOf(l.path), nil, 0o600))
	}
	orphan := filepath.Join(dir, "events-o.jsonl.old") // as after a crash within a rotation
	require.NoError(t, os.WriteFile(orphan, nil, 0o600))
	last := open(t, dir, "last")
	last.Close()
	past := time.Now().Add(-time.Minute)
	require.NoError(t, os.Chtimes(last.path, past, past))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	var ids []string
	for _, path := range left {
		ids = append(ids, strings.TrimPrefix(filepath.Base(path), prefix))
	}
	require.Equal(t, []string{"d.jsonl", "d.jsonl.old", "e.jsonl", "e.jsonl.old", "last.jsonl", "live.jsonl", "x.txt"}, ids)
	newest(live.path, true)
	live.Close()
	at := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(live.path, at, at))
	newest(last.path, false)
}

// TestFileShowsThatTheLauncherLives checks that the time of the file advances without events, so that
// a timeline after a crash knows how long the launcher lived.
func TestFileShowsThatTheLauncherLives(t *testing.T) {
	l := idle(t)
	l.touchEvery = time.Millisecond
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(l.path, past, past))
	go l.run()
	require.Eventually(t, func() bool {
		info, err := os.Stat(l.path)
		return err == nil && time.Since(info.ModTime()) < time.Minute
	}, 10*time.Second, time.Millisecond)
	l.Close()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "no"), "a")
	require.ErrorContains(t, err, "record events: ")
	require.False(t, l.HasFile())
	var got kept
	l.Follow(&got)
	l.Worker(event.Linked, "w-0", "", "")
	require.Equal(t, Links{Ever: 1}, l.Links(), "figures need no file")
	require.Equal(t, kept{{Time: got[0].Time, Kind: event.Linked, Worker: "w-0", Rank: event.NoRank}}, got, "nor does a follower")
	l.Sync()
	l.Close()
	_, err = l.Text()
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = l.Each(func(event.Event) { require.Fail(t, "it has no events") })
	require.NoError(t, err)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestFirstOutput checks that a rank has one event, whichever stream came first, and that later
// output allocates nothing.
func TestFirstOutput(t *testing.T) {
	l := open(t, t.TempDir(), "a")
	f := l.First("w-0", 3, "rank 3")
	require.Nil(t, f.Hear(nil))
	var out bytes.Buffer
	stdout, stderr := f.Hear(nopCloser{&out}), f.Hear(nopCloser{io.Discard})
	for _, text := range []string{"", "a", "b"} {
		_, err := stdout.Write([]byte(text))
		require.NoError(t, err)
		_, err = stderr.Write([]byte(text))
		require.NoError(t, err)
	}
	require.Equal(t, "ab", out.String())
	line := []byte("step 1\n")
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = stderr.Write(line) }))
	_, err := l.First("w-1", event.NoRank, "ps 0").Hear(nopCloser{io.Discard}).Write(line)
	require.NoError(t, err)
	all := read(t, l)
	require.Len(t, all, 2)
	require.Equal(t, event.Event{Time: all[0].Time, Kind: event.FirstLine, Worker: "w-0", Rank: 3}, all[0])
	require.Equal(t, "ps 0", all[1].Detail)
}

// TestPods checks that each change of a pod is noted once, with the times of Kubernetes.
func TestPods(t *testing.T) {
	at := func(s int64) metav1.Time { return metav1.Time{Time: time.Unix(s, 0).UTC()} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w-0", UID: types.UID("u"), CreationTimestamp: at(10)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	shot := rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod}}
	l := open(t, t.TempDir(), "a")
	see := func() {
		l.Pods(shot, rendezvous.Containers{})
		l.Pods(shot, rendezvous.Containers{})
	}
	see()
	pod.Spec.NodeName = "n"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(11)}}
	see()
	shot.Events = []corev1.Event{
		{InvolvedObject: corev1.ObjectReference{Name: "w-0", UID: "u"}, Reason: "Pulling", Message: "Pulling image x", FirstTimestamp: at(12)},
		{InvolvedObject: corev1.ObjectReference{Name: "w-0", UID: "other"}, Reason: "Pulling", FirstTimestamp: at(12)},
		{InvolvedObject: corev1.ObjectReference{Name: "w-0", UID: "u"}, Reason: "Pulled", EventTime: metav1.MicroTime(at(20))},
		{InvolvedObject: corev1.ObjectReference{Name: "w-0", UID: "u"}, Reason: "FailedMount", FirstTimestamp: at(13)},
	}
	see()
	running := func(restarts int32, started int64) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(started)}}}}
		see()
	}
	running(0, 21)
	running(1, 30)
	l.Pods(rendezvous.Snapshot{Err: &rendezvous.APIError{}}, rendezvous.Containers{})
	see()
	var got []string
	for _, e := range read(t, l) {
		got = append(got, e.Time.Format("05")+" "+string(e.Kind)+" "+e.Node)
	}
	require.Equal(t, []string{"10 pod-created ", "11 pod-scheduled n", "12 image-pulling n", "20 image-pulled n", "21 container-started n", "30 container-started n"}, got)
}

// TestClocksThatAreAhead checks that no event is later than its record, whatever the clock of a node, of
// the API server or of a file server says. A container that seems to start after its link would seem to
// wait for the link again.
func TestClocksThatAreAhead(t *testing.T) {
	ahead := metav1.Time{Time: time.Now().Add(time.Hour)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w-0", UID: types.UID("u"), CreationTimestamp: ahead},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{
			Conditions:        []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: ahead}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ahead}}}},
		}}
	pulling := corev1.Event{InvolvedObject: corev1.ObjectReference{Name: "w-0", UID: "u"}, Reason: "Pulling", FirstTimestamp: ahead}
	l := open(t, t.TempDir(), "a")
	l.Pods(rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod}, Events: []corev1.Event{pulling}}, rendezvous.Containers{})
	l.Worker(event.Linked, "w-0", "n", "")
	l.Worker(event.CommandStarted, "w-0", "n", "")
	l.At(ahead.Time, event.Saved, "model.pt")
	l.Ended("failed", "", 1)
	var got []string
	all := read(t, l)
	slices.SortStableFunc(all, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	for _, e := range all {
		got = append(got, string(e.Kind))
	}
	require.Equal(t, []string{"pod-created", "pod-scheduled", "container-started", "image-pulling", "linked", "command-started", "saved", "attempt-ended"}, got)
}

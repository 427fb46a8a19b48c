//go:build linux

package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/rendezvous"
)

// kept keeps the events that it takes.
type kept []event.Event

func (k *kept) Take(line []byte) {
	var e event.Event
	if err := json.Unmarshal(line, &e); err != nil {
		panic(err)
	}
	*k = append(*k, e)
}

// TestFollowerGetsWhatTheFileDrops checks that a follower gets every event in order, also while the
// disk is so slow that the file lacks some.
func TestFollowerGetsWhatTheFileDrops(t *testing.T) {
	l := idle(t)
	var got kept
	l.Follow(&got)
	long := strings.Repeat("x", mostDetail)
	for i := 0; l.dropped == 0; i++ {
		l.Note(event.Stalled, long, i+1)
	}
	l.Begin(4)
	l.Ended("lost", "a worker was lost", 76)
	for i, e := range got[:len(got)-1] {
		require.Equal(t, i+1, e.Count)
	}
	last := got[len(got)-1]
	require.Equal(t, event.Event{Time: last.Time, Kind: event.AttemptEnded, Attempt: 4, Rank: event.NoRank, Cause: "lost", Detail: "a worker was lost", Count: 76}, last)
	require.Equal(t, 4, l.Attempt())
}

func TestSampleCountsWorkersThatWait(t *testing.T) {
	because := func(name string, code rendezvous.Code) rendezvous.Line {
		return rendezvous.Line{Name: name, Reason: rendezvous.Reason{Code: code}}
	}
	p := rendezvous.Progress{Want: 8, Ready: 1, Waiting: []rendezvous.Line{because("w-1", rendezvous.Unschedulable), because("w-2", rendezvous.Unschedulable),
		because("w-3", rendezvous.SchedulingGated), because("", rendezvous.Missing)}}
	l := open(t, t.TempDir(), "a")
	l.Count(p)
	var s event.Sample
	l.Sample(&s)
	require.Empty(t, s.Waiting, "without a follower nothing is counted")
	l.Follow(&kept{})
	l.Count(p)
	l.Sample(&s)
	require.Equal(t, map[string]int{"Unschedulable": 2, "SchedulingGated": 1, "Missing": 4}, s.Waiting)
	p.Waiting = []rendezvous.Line{because("", rendezvous.Unschedulable)}
	l.Count(p)
	l.Sample(&s)
	require.Empty(t, s.Waiting, "the API server is no worker")

	var none *Log
	none.Follow(&kept{})
	none.Count(p)
	none.Sample(&s)
	none.Ended("", "", 0)
	require.Zero(t, none.Attempt())
}

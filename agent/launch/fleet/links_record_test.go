//go:build linux

package fleet

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// TestTheFirstRankThatEndsWell checks that the record tells the first rank of an mpirun that ended with 0,
// which stands for all of them, from a rank that failed.
func TestTheFirstRankThatEndsWell(t *testing.T) {
	log, err := record.Open(t.TempDir(), "a")
	require.NoError(t, err)
	defer log.Close()
	l := NewLinks(nil, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
	l.Record = log
	l.recordEnd("w-0", wire.ReportRecord{Kind: wire.ReportRank, Rank: "3", Code: 1})
	l.recordEnd("w-0", wire.ReportRecord{Kind: wire.ReportDone, Rank: "4"})
	log.Close()
	var got []string
	_, err = log.Each(func(e event.Event) {
		got = append(got, fmt.Sprintf("%s %s %d %d: %s", e.Kind, e.Worker, e.Rank, e.Count, e.Detail))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"rank-ended w-0 3 0: exited with 1", "rank-ended w-0 4 1: exited with 0"}, got)
}

// TestEventsOfALink checks which changes of a link are events: not the first tries, not a link that was
// parked, and not the end of the run.
func TestEventsOfALink(t *testing.T) {
	log, err := record.Open(t.TempDir(), "a")
	require.NoError(t, err)
	defer log.Close()
	l := NewLinks(nil, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
	l.Record = log
	m := &held{worker: rendezvous.Worker{Name: "w-0"}}
	l.held["w-0"] = m
	up, down, parked := link.State{Connected: true, Linked: true}, link.State{Linked: true, Last: errors.New("cut")}, link.State{Linked: true, Parked: true}
	for _, s := range []link.State{{}, up, down, down, up, parked, up} {
		l.note(m, s)
	}
	require.Equal(t, 1, log.Links().Redials)
	l.endRecord()
	l.note(m, down)
	log.Close()
	var kinds []event.Kind
	_, err = log.Each(func(e event.Event) { kinds = append(kinds, e.Kind) })
	require.NoError(t, err)
	require.Equal(t, []event.Kind{event.Linked, event.LinkLost, event.LinkBack}, kinds)
	require.Equal(t, record.Links{Ever: 1, Redials: 1, Redialled: 1, GapsMS: log.Links().GapsMS}, log.Links())
}

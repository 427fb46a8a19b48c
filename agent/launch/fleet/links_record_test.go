//go:build linux

package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

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

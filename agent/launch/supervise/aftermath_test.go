//go:build linux

package supervise

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

func TestLoseSilent(t *testing.T) {
	up := link.State{Linked: true, Connected: true}
	down := link.State{Linked: true, Last: errors.New("container not found")}
	for name, c := range map[string]struct {
		states map[string]link.State
		want   []verdict.Lost
	}{
		"all answer":          {map[string]link.State{"a": up, "b": up}, nil},
		"one does not answer": {map[string]link.State{"a": up, "b": down}, []verdict.Lost{{Worker: "b", Cause: "no sign of life for 10 s: container not found"}}},
		"no worker answers":   {map[string]link.State{"a": down, "b": down}, nil},
		"closed on purpose":   {map[string]link.State{"a": up, "b": {Linked: true, Parked: true}}, nil},
		"never connected":     {map[string]link.State{"a": up, "b": {}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]fleet.Standing{}
			for worker, state := range c.states {
				all[worker] = fleet.Standing{Worker: rendezvous.Worker{Name: worker}, State: state}
			}
			s := &Supervisor{tally: tally.New(), voice: &console.Voice{Out: io.Discard}}
			s.begin()
			s.loseSilent(all)
			var e verdict.Evidence
			s.tally.Testify(&e)
			require.Equal(t, c.want, e.Lost)
		})
	}
}

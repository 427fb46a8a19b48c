//go:build linux

package supervise

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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
	asked := func(ago time.Duration) link.State {
		return link.State{Linked: true, Asked: time.Now().Add(-ago), Last: errors.New("container not found")}
	}
	down := asked(verdictWait)
	for name, c := range map[string]struct {
		states map[string]link.State
		want   []verdict.Lost
	}{
		"all answer":               {map[string]link.State{"a": up, "b": up}, nil},
		"one does not answer":      {map[string]link.State{"a": up, "b": down}, []verdict.Lost{{Worker: "b", Cause: "no sign of life for 10 s: container not found"}}},
		"no worker answers":        {map[string]link.State{"a": down, "b": down}, nil},
		"closed on purpose":        {map[string]link.State{"a": up, "b": {Linked: true, Parked: true}}, nil},
		"never connected":          {map[string]link.State{"a": up, "b": {}}, nil},
		"cut, and not dialed yet":  {map[string]link.State{"a": up, "b": {Linked: true, Last: errors.New("its relay is gone")}}, nil},
		"cut, and dialed just now": {map[string]link.State{"a": up, "b": asked(time.Second)}, nil},
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

// TestASignalDuringTheSearch checks that a worker which was told to stop, and ended the command, is the
// cause although a signal comes before it is lost. Otherwise nothing would explain the end of the
// command, which may even be 0.
func TestASignalDuringTheSearch(t *testing.T) {
	for sig, row := range map[syscall.Signal]struct {
		took time.Duration
		over bool
	}{syscall.SIGTERM: {over: true}, syscall.SIGUSR1: {took: causeWait}} {
		t.Run(sig.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 1)
				s := New(Config{Tally: tally.New(), Links: &fleet.Links{}, Voice: &console.Voice{Out: io.Discard}, Signals: signals, Workers: []rendezvous.Worker{{Name: "w-0"}}})
				s.Command, s.Group = &stubborn{}, true
				require.True(t, s.letGo(&fleet.GoingDown{Worker: "w-0", Until: time.Now().Add(time.Minute)}, time.Now()))
				signals <- sig
				began := time.Now()
				s.Aftermath(t.Context(), false)
				require.Equal(t, row.took, time.Since(began))
				require.Equal(t, row.over, s.Over(), "a run that was told to stop does not restart")
				var e verdict.Evidence
				s.tally.Testify(&e)
				require.Equal(t, []verdict.Lost{{Worker: "w-0", Cause: "it was told to stop", Leaving: true}}, e.Lost)
			})
		})
	}
}

//go:build linux

package fleet

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// TestTakeLeaving checks that the first worker that is going down is returned once, with the rest
// of its grace.
func TestTakeLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLinks(nil, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
		require.Nil(t, l.TakeLeaving())
		l.reported("w0", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 30_000, AgoMillis: 4_000})
		l.reported("w1", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 60_000})
		require.Equal(t, &GoingDown{"w0", time.Now().Add(26 * time.Second)}, l.TakeLeaving())
		require.Nil(t, l.TakeLeaving())
	})
}

// TestTakeLeavingForgetsWorkers checks that a worker is not returned that was given up or replaced since it
// reported. The next attempt would end because of it.
func TestTakeLeavingForgetsWorkers(t *testing.T) {
	w := rendezvous.Worker{Name: "w2", UID: "u"}
	for name, row := range map[string]struct {
		away  func(l *Links)
		stays bool
	}{
		"it is there": {away: func(*Links) {}, stays: true},
		"given up":    {away: func(l *Links) { l.Forget([]string{"w2"}) }},
		"dismissed":   {away: func(l *Links) { l.Dismiss(w, errGoing) }},
		"replaced":    {away: func(l *Links) { l.Follow(t.Context(), rendezvous.Worker{Name: "w2", UID: "another"}) }},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLinks(away{}, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
			defer l.Close()
			l.Follow(t.Context(), w)
			l.reported("w2", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 30_000})
			row.away(l)
			require.Equal(t, row.stays, l.TakeLeaving() != nil)
		})
	}
}

// away are workers that do not answer.
type away struct{}

func (away) Dialer(rendezvous.Worker) link.Dialer { return away{} }

func (away) Dial(context.Context) (io.ReadWriteCloser, error) { return nil, errGoing }

// noAccount is an account that records nothing.
type noAccount struct{}

func (noAccount) Link(string, bool)                {}
func (noAccount) Forget(string)                    {}
func (noAccount) Report(string, wire.ReportRecord) {}
func (noAccount) LabelOf(string) string            { return "" }

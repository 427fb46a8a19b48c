//go:build linux

package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestTakeLeaving checks that the first worker that is going down is returned once, with the rest
// of its grace. A worker whose link was given up in the meantime is not returned.
func TestTakeLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLinks(nil, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
		require.Nil(t, l.TakeLeaving())
		l.reported("w0", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 30_000, AgoMillis: 4_000})
		l.reported("w1", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 60_000})
		require.Equal(t, &GoingDown{"w0", time.Now().Add(26 * time.Second)}, l.TakeLeaving())
		require.Nil(t, l.TakeLeaving())

		l.held["w2"] = &held{stop: func() {}}
		l.reported("w2", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 30_000})
		l.Forget([]string{"w2"})
		require.Nil(t, l.TakeLeaving())
	})
}

// noAccount is an account that records nothing.
type noAccount struct{}

func (noAccount) Link(string, bool)                {}
func (noAccount) Forget(string)                    {}
func (noAccount) Report(string, wire.ReportRecord) {}
func (noAccount) LabelOf(string) string            { return "" }

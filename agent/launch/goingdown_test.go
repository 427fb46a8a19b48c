//go:build linux

package launch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestTakeLeaving: the first worker that is going down is told once, with what is left of its
// grace. One whose link was given up since is not.
func TestTakeLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLinks(nil, nil, wire.HelloRecord{}, time.Minute, nil, newTally())
		require.Nil(t, l.takeLeaving())
		l.reported("w0", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 30_000, AgoMillis: 4_000})
		l.reported("w1", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 60_000})
		require.Equal(t, &goingDown{"w0", time.Now().Add(26 * time.Second)}, l.takeLeaving())
		require.Nil(t, l.takeLeaving())

		l.members["w2"] = &member{stop: func() {}}
		l.reported("w2", wire.ReportRecord{Kind: wire.ReportLeaving, GraceMillis: 30_000})
		l.forget([]string{"w2"})
		require.Nil(t, l.takeLeaving())
	})
}

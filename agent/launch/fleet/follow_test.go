//go:build linux

package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Dialer implements Dialers.
func (p *pinged) Dialer(rendezvous.Worker) link.Dialer { return p }

// TestSessionsOfAReplacedWorker checks that sessions on a worker that was replaced end because of that. An
// end because of a context means to their callers that the launcher ended.
func TestSessionsOfAReplacedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		workers := &pinged{}
		l := NewLinks(workers, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
		l.Follow(t.Context(), rendezvous.Worker{Name: "w-0", UID: "old"})
		synctest.Wait()
		s, err := l.LinkOf("w-0").Open(t.Context(), "", wire.Spec{Line: "sleep 1000"}, link.Streams{})
		require.NoError(t, err)
		l.Follow(t.Context(), rendezvous.Worker{Name: "w-0", UID: "new"})
		_, err = s.Wait(t.Context())
		require.EqualError(t, err, "worker w-0 lost: its pod or its container was replaced")
		require.NotErrorIs(t, err, context.Canceled)
		require.Equal(t, link.Gone, KindOf(err))
		l.Close()
		workers.served.Wait()
	})
}

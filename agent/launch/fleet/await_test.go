//go:build linux

package fleet

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// TestTheRightToWatchIsRevoked checks that a wait ends when the launcher may not watch pods any more. A
// time without that right while the job ran does not end the wait for the workers of its next attempt.
func TestTheRightToWatchIsRevoked(t *testing.T) {
	revoked := &rendezvous.APIError{Code: rendezvous.Forbidden, Verb: "watch", Err: errors.New("pods is forbidden"), Terminal: true}
	for name, row := range map[string]struct {
		before, during bool // the first wait has ended, the wait
		again          bool // it is a wait for replacements
		code           int
	}{
		"before the first wait": {before: true, code: names.ExitForbidden},
		"while the job ran":     {before: true, again: true, code: names.ExitDeadline},
		"while it waits":        {during: true, again: true, code: names.ExitForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stderr, err := os.Open(os.DevNull)
				require.NoError(t, err)
				defer stderr.Close()
				cfg := config.Config{}
				cfg.Workers, cfg.Timeout = 1, time.Minute
				c := NewCluster(Cluster{Config: cfg, Kube: &Kube{}, Links: NewLinks(nil, nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), tally.New()),
					Voice: &console.Voice{Out: stderr, Quiet: true}, Stderr: stderr})
				if row.before {
					c.feed.failed <- revoked
				}
				if row.during {
					time.AfterFunc(time.Second, func() { c.feed.failed <- revoked })
				}
				var v *Vacancies
				if row.again {
					v = &Vacancies{Past: NewPast(nil, nil)}
				}
				_, err = c.await(t.Context(), v)
				require.Equal(t, row.code, failure.CodeOf(err), "%v", err)
			})
		})
	}
}

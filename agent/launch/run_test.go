//go:build linux

package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
)

// TestTheLeaseInAHint checks that a hint has the lease of the workers, which is shorter for fake ones.
func TestTheLeaseInAHint(t *testing.T) {
	for _, row := range []struct {
		fake   int
		origin string
		lease  time.Duration
		want   string
	}{
		{0, "default", 15 * time.Minute, "(15m)"},
		{2, "default", 15 * time.Minute, "(1m)"},
		{2, "flag --lease", 5 * time.Minute, "(5m)"},
	} {
		cfg := config.Config{Rehearsal: config.Rehearsal{Fake: row.fake}, Limits: config.Limits{Lease: row.lease}, Origin: map[string]string{"lease": row.origin}}
		require.Contains(t, endsAfterLease(cfg), row.want)
	}
}

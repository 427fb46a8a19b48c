package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPausedLauncher checks that a launcher that did not run for a minute, such as one that a terminal
// stopped, first reads what came meanwhile.
func TestPausedLauncher(t *testing.T) {
	const limit, every = 12 * time.Second, 5 * time.Second
	at := func(seconds int) int64 { return int64(time.Duration(seconds) * time.Second) }
	for name, answered := range map[string]bool{"the answer waits to be read": true, "there is no answer": false} {
		t.Run(name, func(t *testing.T) {
			p := &pulse{}
			p.heard.Store(at(5))
			p.waits.Store(at(5))
			p.writes.Store(at(10))
			p.wrote(10*time.Second, true)
			dead, sure := p.dead(70*time.Second, limit, every)
			require.True(t, dead)
			require.False(t, sure, "nobody has looked for an answer")
			if answered {
				p.heard.Store(at(70))
				p.waits.Store(at(70))
			}
			dead, sure = p.dead(71*time.Second, limit, every)
			require.Equal(t, !answered, dead)
			require.Equal(t, !answered, sure)
		})
	}
}

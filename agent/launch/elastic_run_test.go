//go:build linux

package launch

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// TestWorkersThatJoinTakePart checks that the record says at once that a worker which joins takes part, if
// the command in the launcher uses it or processes are started on it. Otherwise the attempt restarts.
func TestWorkersThatJoinTakePart(t *testing.T) {
	for name, row := range map[string]struct {
		needed, takes bool
		want          []string
	}{
		"horovodrun": {want: []string{"command-started w-1 "}},
		"torchrun":   {needed: true, takes: true, want: []string{"command-started w-1 "}},
		"mpirun":     {needed: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "muster") // short enough for sockets
			require.NoError(t, err)
			defer os.RemoveAll(dir)
			t.Setenv(names.EnvDir, dir)
			r, words := recorded(t)
			r.cfg = config.Config{Rehearsal: config.Rehearsal{Fake: 2, FakeGiven: true}}
			r.place, err = files.Find(r.cfg, files.Beside{})
			require.NoError(t, err)
			defer r.place.Close()
			r.voice, r.links, r.broker = &console.Voice{Out: io.Discard}, &fleet.Links{}, &service{}
			old, joined := rendezvous.Worker{Name: "w-0"}, rendezvous.Worker{Name: "w-1", Index: 1}
			roster := &supervise.Roster{Workforce: rendezvous.Workforce{Least: 1, Most: 2}, Needed: row.needed}
			roster.Workforce.Look([]rendezvous.Worker{old}, nil)
			c := roster.Workforce.Look([]rendezvous.Worker{old, joined}, nil)
			require.Equal(t, []rendezvous.Worker{joined}, c.Joined)
			r.adapt(&attempt{}, roster, c, row.takes)
			require.Equal(t, row.want, words())
		})
	}
}

//go:build linux

package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/reap"
)

// TestLauncherOnlyIsReportedOnce checks what is printed about a command that uses no worker, and
// when.
func TestLauncherOnlyIsReportedOnce(t *testing.T) {
	const torch = "python3 runs in the launcher only; --framework=torch starts it on the workers"
	for name, tc := range map[string]struct {
		watch    Alone
		sessions int
		want     []string
	}{
		"creates a process group":          {Alone{name: "python3", group: "torch"}, 0, []string{torch}},
		"names a framework":                {Alone{name: "python3", names: "torch"}, 0, []string{torch}},
		"horovod":                          {Alone{name: "python3", group: "horovod"}, 0, []string{"python3 runs in the launcher only; horovodrun starts it on the workers"}},
		"a launcher in a script":           {Alone{name: "bash", found: "torchrun"}, 0, []string{"torchrun runs in the launcher only; --framework=torch starts bash on the workers"}},
		"deepspeed may still use a worker": {Alone{name: "bash", found: "deepspeed"}, 0, nil},
		"unknown script":                   {Alone{name: "python3"}, 0, nil},
		"a worker is used":                 {Alone{name: "python3", group: "torch"}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			w := tc.watch
			w.find = func() ([]reap.Proc, error) { return nil, nil }
			w.said = func(sentence string) { said = append(said, sentence) }
			w.begun = time.Unix(100, 0)
			w.Look(w.begun.Add(aloneAfter-time.Second), tc.sessions)
			require.Empty(t, said, "nothing is printed before the delay")
			for i := range 5 {
				w.Look(w.begun.Add(aloneAfter+time.Duration(i)*time.Second), tc.sessions)
			}
			require.Equal(t, tc.want, said)
		})
	}
	var none *Alone
	none.Look(time.Now(), 0)
	none.Testify(&verdict.Evidence{})
}

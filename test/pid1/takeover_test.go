//go:build linux

package pid1

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
)

// No process of a session can take the worker from its launcher, not even one that
// has left its parents behind. Probes from there are answered, and what pods/exec
// starts beside PID 1 is served.
func TestRanksCannotTakeTheirWorker(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, role := range []string{"init", "pause"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := start(t, role, nil).up(t)
			l := w.link(t, nil)
			newer := "env " + roleEnv + "=dial " + self + " " + w.socket + " a newer launcher"
			for name, line := range map[string]string{
				"rank":   "exec " + newer,
				"child":  newer + "; :",
				"orphan": "(env -i setsid sh -c 'sleep 0.2; " + newer + "; :' &); sleep 0.1; exit 0",
			} {
				rec, said := sh(t, l, line)
				require.Zero(t, rec.Code, name)
				require.Contains(t, said, `"reason":"peer"`, name)
				require.NotContains(t, said, "launcher-a", "the holder's epoch")
			}
			rec, said := sh(t, l, names.EnvDir+"="+w.dir+" "+agent+" ready")
			require.Zero(t, rec.Code, said)
			rec, said = sh(t, l, "exit 3")
			require.Equal(t, 3, rec.Code, "the launcher has its link: %s", said)

			beside := exec.Command("nsenter", "-t", strconv.Itoa(w.pid), "-p", "-m", "sh", "-c", newer+"; :")
			out, err := beside.CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, "welcome\n", string(out))
		})
	}
}

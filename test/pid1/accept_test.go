//go:build linux

package pid1

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/names"
)

// ready is what `agent ready` says of w: its exit code and its words.
func (w *worker) ready(t testing.TB) (int, string) {
	t.Helper()
	cmd := exec.Command(agent, "ready")
	cmd.Env = []string{names.EnvDir + "=" + w.dir}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return 0, string(out)
	}
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	return failed.ExitCode(), string(out)
}

// files bounds how many descriptors w may have open.
func (w *worker) files(t testing.TB, most uint64) {
	t.Helper()
	var old unix.Rlimit
	require.NoError(t, unix.Prlimit(w.pid, unix.RLIMIT_NOFILE, nil, &old))
	require.NoError(t, unix.Prlimit(w.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: old.Max}, nil))
}

// A worker that has no descriptor left takes its launcher back as soon as it has one.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	w := start(t, "init", nil).up(t)
	code, words := w.ready(t)
	require.Equal(t, 0, code, words)

	w.files(t, 3)
	began := time.Now()
	code, words = w.ready(t)
	require.Equal(t, 1, code)
	require.Contains(t, words, "the worker does not answer")
	require.NotContains(t, words, "hint: ", "a worker does run here")
	require.Less(t, time.Since(began), 15*time.Second)
	require.Contains(t, w.out.String(), "cannot accept connections, trying again")
	require.Contains(t, w.out.String(), "ulimit -n")

	w.files(t, 256)
	waitFor(t, "the worker answers", func() bool { code, _ := w.ready(t); return code == 0 })
	rec, _ := sh(t, w.link(t, nil), "exit 21")
	require.Equal(t, 21, rec.Code)
	require.NotContains(t, w.out.String(), "refused a launcher", "a probe is no launcher")
}

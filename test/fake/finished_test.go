//go:build mpi

package fake

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A daemon that crashes when its ranks have ended with 0 takes nothing from a run whose mpirun said 0;
// one that crashes sooner, or after a rank that failed, makes the 0 doubtful. The
// mpirun and the daemon are scripts: test/conform has real ones.
func TestDaemonThatCrashesAtItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		daemon string
		code   int
		why    string
	}{
		"after its rank":                      {"sleep 1; kill -SEGV $$", 0, ""},
		"after its two ranks":                 {"sleep 2 & sleep 1; wait; kill -SEGV $$", 0, ""},
		"while one of two ranks runs":         {"sleep 8 & sleep 1; kill -SEGV $$", 139, `its prted \(pid \d+\) was killed by SIGSEGV$`},
		"after a rank that failed":            {"sh -c 'sleep 1; exit 3'; kill -SEGV $$", 139, `its prted \(pid \d+\) was killed by SIGSEGV$`},
		"after a rank that was killed":        {"sh -c 'sleep 1; kill -9 $$'; kill -SEGV $$", 139, `its prted \(pid \d+\) was killed by SIGSEGV$`},
		"after its rank, with a 1 of its own": {"sleep 1; exit 1", 1, `its session on worker 127.0.0.2 exited with 1$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, exec.Command("cp", "/bin/dash", filepath.Join(dir, "prted")).Run())
			daemon := filepath.Join(dir, "daemon")
			require.NoError(t, os.WriteFile(daemon, []byte(c.daemon+"\n"), 0o644))
			mpirun := filepath.Join(dir, "mpirun")
			script := "#!/bin/sh\nagent rsh 127.0.0.2 exec " + dir + "/prted " + daemon + "\nexit 0\n"
			require.NoError(t, os.WriteFile(mpirun, []byte(script), 0o755))
			o := run(t, agentRun(t, []string{"--fake=1"}, mpirun))
			o.wants(t, c.code)
			if c.why != "" {
				require.Regexp(t, `(?m)^agent: mpirun said 0, but .*`+c.why, o.err)
			}
		})
	}
}

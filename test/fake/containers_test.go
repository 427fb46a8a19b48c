//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// container is an agent each of whose workers and members has a memory cgroup of its own, as
// a pod's container has, and sees it where a container does.
const container = `#!/bin/bash
case $1 in worker|join) ;; run) exec "${0%/*}/agent-launcher" "$@" ;; *) exec -a "$0" "$AGENT" "$@" ;; esac
g=$(mktemp -d "$GROUPS_DIR/w.XXXXXX") && echo 96M >"$g/$LIMIT" && echo $$ >"$g/cgroup.procs" || exit 70
exec unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$g" "$SEEN_AT" "$AGENT" "$@"
`

// containers returns a directory with an agent whose workers' memory is bounded, so that the
// kernel kills what uses more. It needs root and a memory cgroup that has room for more.
func containers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	seen, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(seen); err != nil {
		seen, limit = "/sys/fs/cgroup", "memory.max"
	}
	groups, err := os.MkdirTemp(seen, "culprit")
	require.NoError(t, err, "a kill for memory needs root, and a memory cgroup in which groups can be made")
	t.Cleanup(func() { removeGroups(t, groups) })
	if limit == "memory.max" {
		for _, above := range []string{seen, groups} {
			require.NoError(t, os.WriteFile(filepath.Join(above, "cgroup.subtree_control"), []byte("+memory"), 0o644))
		}
	}
	launcher, err := os.ReadFile(filepath.Join(bin, "agent-launcher"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent-launcher"), launcher, 0o755))
	script := "#!/bin/bash\nAGENT=" + filepath.Join(bin, "agent") + " GROUPS_DIR=" + groups + " SEEN_AT=" + seen + " LIMIT=" + limit + "\n" + container[len("#!/bin/bash\n"):]
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte(script), 0o755))
	return dir
}

// removeGroups removes cgroups whose last processes are about to be gone.
func removeGroups(t *testing.T, groups string) {
	for range 100 {
		list, err := filepath.Glob(filepath.Join(groups, "w.*"))
		require.NoError(t, err)
		for _, one := range append(list, groups) {
			err = os.Remove(one)
		}
		if err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: not removed", groups)
}

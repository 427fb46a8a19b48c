//go:build mpi

package fake

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/hosts"
)

// hostPrograms writes the programs of test/suite/hosts to a directory.
func hostPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range hosts.Programs() {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	return dir
}

// listen answers at an address with a name until the test ends. If another run of this test on the machine has the
// first address, listen waits for it, because that run has all addresses.
func listen(t *testing.T, dir, name, address string) {
	t.Helper()
	argv := []string{filepath.Join(dir, "listen.py"), name, address}
	for _, port := range hosts.Ports() {
		argv = append(argv, fmt.Sprint(port))
	}
	var cmd *exec.Cmd
	require.Eventually(t, func() bool {
		cmd = exec.Command("python3", argv...)
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			return false
		}
		line, _ := bufio.NewReader(out).ReadString('\n') // empty: the address is in use
		if line != "listening\n" {
			_ = cmd.Wait() // it has ended
			return false
		}
		return true
	}, patience, 100*time.Millisecond, "listen at %s", address)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
}

// TestEveryHostIsReached checks that everything that is exported for a framework names workers, at ports of the
// run, and that these answer. test/e2e tests the same on a cluster.
func TestEveryHostIsReached(t *testing.T) {
	t.Parallel()
	workers := []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"}
	dir := hostPrograms(t)
	listen(t, dir, "the launcher", "127.0.0.1")
	for _, w := range workers {
		listen(t, dir, w, w)
	}
	var found []hosts.Found
	for _, c := range hosts.Cases() {
		argv := append([]string{"agent"}, c.Argv(dir, "--fake=3", c.Meeting(workers[0]), "--env=PYTHONPATH="+dir)...)
		o := run(t, call{argv: argv, env: []string{"PATH=" + bin + ":" + dir + ":" + os.Getenv("PATH")}})
		require.Zero(t, o.code, "%s: %s\n%s", c.Name, o.out, o.err)
		seen, err := c.Read(o.out)
		require.NoError(t, err, o.err)
		some, err := c.Find(seen, workers)
		require.NoError(t, err)
		for i := range some {
			if some[i].Name == "LIGHTGBM_MACHINES" { // it accepts no other loopback address
				some[i].Workers = []string{"the launcher"}
			}
		}
		found = append(found, some...)
	}
	endpoints := hosts.Endpoints(found)
	out, err := exec.Command("python3", append([]string{filepath.Join(dir, "dial.py")}, endpoints...)...).Output()
	require.NoError(t, err)
	var answers map[string]string
	require.NoError(t, json.Unmarshal(out, &answers))
	wrong := hosts.Judge(found, "this machine", answers)
	require.Empty(t, wrong, "%d endpoints are wrong, the first: %q", len(wrong), wrong[:min(len(wrong), 1)])
	t.Logf("%d variables of %d cases, %d endpoints", len(found), len(hosts.Cases()), len(endpoints))
}

//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/contract"
)

// lastWords returns what a worker logs that its launcher gave up for that reason. Its termination
// message has the same words.
func lastWords(why string) string { return fmt.Sprintf("why=%q\n", names.ReplacedWords(why)) }

// TestClusterSpareAfterPreflight checks that a spare takes the place of a worker that has failed its
// preflight, without a restart. This worker ends so that its pod is recreated. The new pod becomes
// the spare, for the worker that is lost later.
func TestClusterSpareAfterPreflight(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var said []*contract.Text
	for i := range 3 {
		said = append(said, c.start(i))
	}
	l := c.run("--workers=2", "--spares=1", "--preflight=fail", "--preflight-command=test $ON != pi-worker-1 || test -e "+c.dir+"/repaired", "--max-restarts=1",
		"--hopeless-after=1s", "--framework=plain", "--", "sh", "-c", `echo attempt $MUSTER_ATTEMPT rank $RANK on $ON; test $MUSTER_ATTEMPT = 1 || exec sleep 4743`)
	require.Equal(t, names.ExitReplaced, c.exited(1), "so that its pod has failed")
	require.Contains(t, said[1].String(), lastWords(names.WhyPreflight), "so that the controller knows why")
	require.NoError(t, os.WriteFile(c.dir+"/repaired", nil, 0o600))
	c.failed(1, names.ExitReplaced)
	c.replace(1)
	eventually(t, "the spare takes part", func() bool { return strings.Contains(l.out.String(), "attempt 0 rank 1 on pi-worker-2\n") })
	require.Contains(t, l.err.String(), "agent: worker pi-worker-1 failed its preflight (1 check): pi-worker-2 takes its place\n")

	require.NoError(t, c.workers[podName(2)].Process.Kill())
	c.exited(2)
	c.failed(2, 137)
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "agent: worker pi-worker-2 is lost: pi-worker-1 takes its place\n")
	require.Contains(t, l.out.String(), "attempt 1 rank 0 on pi-worker-0\n")
	require.Contains(t, l.out.String(), "attempt 1 rank 1 on pi-worker-1\n")
}

// TestClusterSpareForLater checks that the launcher waits for a spare that is still starting when a
// worker fails its preflight.
func TestClusterSpareForLater(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--spares=1", "--preflight=fail", "--preflight-command=test $ON != pi-worker-0", "--framework=plain", "--", "sh", "-c", `echo rank $RANK on $ON at $MASTER_ADDR`)
	require.Equal(t, names.ExitReplaced, c.exited(0))
	c.start(2)
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.out.String(), "rank 0 on pi-worker-2 at ")
	require.Contains(t, l.out.String(), "rank 1 on pi-worker-1 at ")

}

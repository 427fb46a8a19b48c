//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/fakekube"
)

// pair writes the keys of a job, and returns their paths.
func pair(t *testing.T) (launcher, worker string) {
	paths, err := secure.WritePair(t.TempDir())
	require.NoError(t, err)
	return paths[0], paths[1]
}

// listen starts worker i with a key, at a loopback address of its own; "" starts it without.
func (c *cluster) listen(i int, port, key string) *contract.Text {
	ip := fmt.Sprintf("127.0.1.%d", i+1)
	c.image = []string{names.EnvPodName + "=" + podName(i), fmt.Sprintf("%s=uid-%d", names.EnvPodUID, i)}
	if key != "" {
		c.image = append(c.image, names.EnvKeyFile+"="+key, names.EnvListen+"="+ip+":"+port)
	}
	said := c.start(i)
	pod := c.api.Pod(namespace, podName(i))
	pod.Status.PodIP = ip
	c.api.Set(pod)
	return said
}

// execs counts the pods for which exec streams were requested.
func (c *cluster) execs() int {
	pods := map[string]bool{}
	for _, r := range c.api.Requests() {
		if strings.HasSuffix(r.Path, "/exec") {
			pods[r.Path] = true
		}
	}
	return len(pods)
}

// TestClusterByNetwork runs a job without a single exec stream, and through an outage of the API
// server that nothing notices.
func TestClusterByNetwork(t *testing.T) {
	t.Parallel()
	c, port := newCluster(t), freePort(t)
	key, worker := pair(t)
	for i := range 3 {
		c.listen(i, port, worker)
	}
	script := `for h in 0 1 2; do agent rsh pi-worker-$h 'echo on $ON; until test -e ` + c.dir + `/go-'$h'; do sleep 0.02; done'; done`
	l := c.run("--workers=3", "--transport=network", "--key-file="+key, "--worker-port="+port, "-v", "--", "sh", "-c", script)
	for i := range 3 {
		eventually(t, "a worker runs the command", func() bool { return strings.Contains(l.out.String(), fmt.Sprintf("on pi-worker-%d\n", i)) })
		if i == 0 {
			c.api.Stop()
		}
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/go-%d", c.dir, i), nil, 0o600))
	}
	c.api.Start()
	require.Zero(t, l.end(t), l.err.String())
	require.Zero(t, c.execs())
	require.Zero(t, l.figures(t).Redials)
	require.NotContains(t, l.err.String(), "linked by exec")
	require.Zero(t, c.exited(0))
}

// TestClusterFallsBackToExec has workers that cannot be reached by network, each for a reason of its
// own.
func TestClusterFallsBackToExec(t *testing.T) {
	t.Parallel()
	c, port := newCluster(t), freePort(t)
	key, worker := pair(t)
	_, other := pair(t)
	c.listen(0, port, worker)
	c.listen(1, port, "")
	said := c.listen(2, port, other)
	l := c.run("--workers=3", "--transport=network", "--key-file="+key, "--worker-port="+port, "--", "sh", "-c",
		`for h in 0 1 2; do agent rsh pi-worker-$h 'echo on $ON'; done`)
	require.Zero(t, l.end(t), l.err.String())
	require.Equal(t, "on pi-worker-0\non pi-worker-1\non pi-worker-2\n", l.out.String())
	require.Contains(t, l.err.String(), "agent: 2 of 3 workers cannot be reached by network and are linked by exec, such as pi-worker-1: connect to worker: dial tcp 127.0.1.2:"+port)
	require.Contains(t, l.err.String(), "hint: give workers the key of the job with --key-file, and allow TCP port "+port)
	require.Equal(t, 1, strings.Count(l.err.String(), "linked by exec"))
	require.Equal(t, 2, c.execs())
	require.Contains(t, said.String(), "it has another key")
}

// TestClusterWithoutAnyWay has neither a port that answers nor a right to exec.
func TestClusterWithoutAnyWay(t *testing.T) {
	t.Parallel()
	c, port := newCluster(t), freePort(t)
	key, _ := pair(t)
	_, other := pair(t)
	c.listen(0, port, other)
	c.exec.Refuse(fakekube.WebSocket, 403, forbidden)
	c.exec.Refuse(fakekube.SPDY, 403, forbidden)
	l := c.run("--workers=1", "--transport=network", "--key-file="+key, "--worker-port="+port, "--timeout=5s", "--", "true")
	require.NotZero(t, l.end(t))
	require.Contains(t, l.err.String(), "the launcher may not exec into it")
	require.Contains(t, l.err.String(), "by network: connect to worker at 127.0.1.1:"+port+": the worker did not accept the launcher's proof")
}

func TestClusterChoosesTheWay(t *testing.T) {
	t.Parallel()
	key, worker := pair(t)
	for name, row := range map[string]struct {
		flags []string
		execs int
	}{
		"exec is the default":     {[]string{"--key-file=" + key}, 1},
		"auto with a key":         {[]string{"--transport=auto", "--key-file=" + key}, 0},
		"auto without a key":      {[]string{"--transport=auto"}, 1},
		"auto without the file":   {[]string{"--transport=auto", "--key-file=" + key + ".none"}, 1},
		"network by its variable": {[]string{"--transport=network"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, port := newCluster(t), freePort(t)
			c.listen(0, port, worker)
			var env []string
			if row.execs == 0 {
				env = []string{names.EnvKeyFile + "=" + key}
			}
			l := c.runEnv(env, append(row.flags, "--workers=1", "--worker-port="+port, "--", "agent", "rsh", "pi-worker-0", "echo fine")...)
			require.Zero(t, l.end(t), l.err.String())
			require.Equal(t, "fine\n", l.out.String())
			require.Equal(t, row.execs, c.execs())
			require.NotContains(t, l.err.String(), "network")
		})
	}
}

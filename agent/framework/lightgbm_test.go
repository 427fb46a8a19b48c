package framework

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFakeWorkersOfLightGBM checks that fake workers differ by their ports. LightGBM looks for its
// own entry among the addresses of its interfaces, and loopback has only 127.0.0.1.
func TestFakeWorkersOfLightGBM(t *testing.T) {
	c := Cluster{Fake: true, Port: 30000, Command: []string{"python3", "t.py"}}
	for i := range 2 {
		ip := "127.0.0." + strconv.Itoa(2+i)
		c.Workers = append(c.Workers, Node{Name: ip, Host: ip, IP: ip, Slots: 1, Index: i})
	}
	launch, err := LightGBM{}.Prepare(c)
	require.NoError(t, err)
	for i, p := range launch.Processes {
		require.Equal(t, []string{
			"LIGHTGBM_MACHINES=127.0.0.1:30100,127.0.0.1:30101",
			"LIGHTGBM_LOCAL_LISTEN_PORT=" + strconv.Itoa(30100+i),
			"LIGHTGBM_NUM_MACHINES=2",
			"PYTHONUNBUFFERED=1",
		}, assignments(p.Env))
		require.Equal(t, i, p.Worker)
	}
	require.Equal(t, "127.0.0.2", c.Workers[0].IP, "Prepare changed the cluster")
}

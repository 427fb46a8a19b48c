package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// TestRanksOfALaptopKeepTheirScore checks that ranks keep the default OOM score outside of a pod
// and under --fake, so that the kernel does not prefer to kill them.
func TestRanksOfALaptopKeepTheirScore(t *testing.T) {
	t.Setenv(names.EnvFake, "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	require.Equal(t, 1000, RankOOMScore())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	require.Zero(t, RankOOMScore())
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv(names.EnvFake, "run-0-w0")
	require.Zero(t, RankOOMScore())
}

package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/settings"
)

func TestSettings(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(Settings()), "\n")[2:]
	require.Len(t, rows, len(slices.Collect(settings.All())))
	for _, row := range rows {
		require.Equal(t, 8, strings.Count(row, "|")-strings.Count(row, `\|`), row)
	}
	require.Contains(t, rows, "| `--quiet`, `-q` | nothing |  | `MUSTER_QUIET` |  | run | print only warnings and errors |")
	require.Contains(t, Settings(), "| `--lease` | duration | run `15m`, join `1m` | `MUSTER_LEASE` |")
	require.Contains(t, Settings(), "| `--workers` | number | submit `1` |")
	require.Contains(t, Settings(), "| `--rank` | number |  |")
	require.Contains(t, Settings(), "| `--restart-on` | text | run `130,137,143,lost,infra`, join `130,137,143,lost,infra` |")
	require.Contains(t, Settings(), "| `MUSTER_MAX_RESTARTS` | `restartPolicy.maxRestarts` | run, join, submit |")
}

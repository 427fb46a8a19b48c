package failure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/settings"
)

func TestUnknownVariable(t *testing.T) {
	for _, row := range []struct{ environ, want, hint string }{
		{"", "", ""},
		{"PATH=/bin MUSTER_WORKERS=4 MUSTER_POD_IP=10.0.0.1 MUSTER_TOKEN=x MUSTER_OUT=out", "", ""},
		{"MUSTER_WROKERS=4", "unknown variable MUSTER_WROKERS for agent run", "did you mean MUSTER_WORKERS?"},
		{"MUSTER_NP=4", "unknown variable MUSTER_NP ", "did you mean MUSTER_WORKERS?"},
		{"MUSTER_NPROC_PER_NODE=4", "unknown variable MUSTER_NPROC_PER_NODE ", "did you mean MUSTER_PROCS_PER_WORKER?"},
		{"MUSTER_LOGLEVEL=info", "unknown variable MUSTER_LOGLEVEL ", "did you mean MUSTER_LOG_LEVEL?"},
		{"MUSTER_SECRET_SAUCE=4", "unknown variable MUSTER_SECRET_SAUCE ", "unset it"},
		{"MUSTER_=4", "unknown variable MUSTER_ ", "unset it"},
		{"MUSTER_WROKERS=", "", ""},
		{"MUSTERED=4 MY_MUSTER_X=4", "", ""},
		// The kubelet sets these variables for a Service muster-db.
		{"MUSTER_DB_SERVICE_HOST=10.96.0.7 MUSTER_DB_SERVICE_PORT=80 MUSTER_DB_SERVICE_PORT_HTTP=80 MUSTER_DB_PORT=tcp://10.96.0.7:80 MUSTER_DB_PORT_80_TCP=tcp://10.96.0.7:80 MUSTER_DB_PORT_80_TCP_ADDR=10.96.0.7", "", ""},
		{"MUSTER_SERVICE_HOST=10.96.0.7 MUSTER_SERVICE_PORT=80 MUSTER_PORT=tcp://10.96.0.7:80 MUSTER_PORT_80_TCP_PROTO=tcp", "", ""},
		{"MUSTER_DB_SERVICE_HOST=10.96.0.7 MUSTER_DB_NAME=x", "unknown variable MUSTER_DB_NAME ", "unset it"},
	} {
		err := UnknownVariable("agent run", strings.Fields(row.environ), settings.Known())
		if row.want == "" {
			require.NoError(t, err, row.environ)
			continue
		}
		require.ErrorContains(t, err, row.want, row.environ)
		require.Equal(t, 64, CodeOf(err))
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.True(t, strings.HasPrefix(f.Way, row.hint), "%s: %s", row.environ, f.Way)
	}
}

func TestIsServiceLink(t *testing.T) {
	environ := []string{"MUSTER_SERVICE_HOST=10.96.0.7"}
	require.True(t, IsServiceLink(environ, "MUSTER_PORT", "tcp://10.96.0.7:80"))
	require.False(t, IsServiceLink(environ, "MUSTER_PORT", "20000"), "a variable of the pod takes precedence over the kubelet's")
	require.False(t, IsServiceLink(nil, "MUSTER_PORT", "tcp://10.96.0.7:80"))
	require.False(t, IsServiceLink(environ, "MUSTER_SERVICE", "x"))
}

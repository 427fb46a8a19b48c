package main

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/serve"
)

func TestParse(t *testing.T) {
	t.Setenv("MUSTER_NAMESPACES", "")
	t.Setenv("MUSTER_AGENT_IMAGE", "registry/agent:1")
	var out strings.Builder
	o, err := parse(nil, io.Discard, &out)
	require.NoError(t, err)
	require.Empty(t, o.Namespaces, "no namespaces means all")
	require.Equal(t, "registry/agent:1", o.AgentImage)
	require.NotEmpty(t, o.Version)

	o, err = parse([]string{"--namespaces= a, b,", "--leader-elect"}, io.Discard, &out)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, o.Namespaces)
	require.True(t, o.LeaderElection)

	t.Setenv("MUSTER_NAMESPACES", "c")
	o, err = parse(nil, io.Discard, &out)
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, o.Namespaces)

	for flag, want := range map[string]serve.Mode{"": "", "--serve-kubeflow": serve.On, "--serve-kubeflow=dry-run": serve.DryRun, "--serve-kubeflow=off": serve.Off} {
		o, err = parse(strings.Fields(flag), io.Discard, &out)
		require.NoError(t, err)
		require.Equal(t, want, o.Serve, flag)
	}
	_, err = parse([]string{"--serve-kubeflow=dry"}, io.Discard, &out)
	require.Error(t, err)
	require.Contains(t, out.String(), "want on, off or dry-run")

	_, err = parse([]string{"now"}, io.Discard, &out)
	require.Error(t, err)
	require.Contains(t, out.String(), `controller: unexpected argument "now"`)
	require.Contains(t, out.String(), "hint: controller --help lists the flags")

	out.Reset()
	_, err = parse([]string{"--namespace=a"}, io.Discard, &out)
	require.Error(t, err)
	require.Equal(t, "controller: unknown flag: -namespace\nhint: did you mean --namespaces? controller --help lists the flags\n", out.String())

	var help strings.Builder
	_, err = parse([]string{"--help"}, &help, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, help.String(), "-leader-elect")
}

func TestVariables(t *testing.T) {
	t.Setenv("MUSTER_CONTROLLER_SERVICE_HOST", "10.96.0.7") // the kubelet sets such variables for a Service
	t.Setenv("MUSTER_CONTROLLER_PORT", "tcp://10.96.0.7:80")
	var out strings.Builder
	_, err := parse(nil, io.Discard, &out)
	require.NoError(t, err)
	t.Setenv("MUSTER_NAMESPACE", "lab")
	_, err = parse(nil, io.Discard, &out)
	require.Error(t, err, "a misspelled variable would serve all namespaces")
	require.Equal(t, "controller: unknown variable MUSTER_NAMESPACE for controller\n"+
		"hint: did you mean MUSTER_NAMESPACES? unset it, or rename it if it is your own; controller --help lists the flags\n", out.String())
}

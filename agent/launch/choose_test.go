//go:build linux

package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/names"
)

func TestChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  Config
		want framework.Framework
	}{
		"mpirun":       {Config{Command: []string{"mpirun", "./pi"}}, framework.MPI{}},
		"says nothing": {Config{Command: []string{"python", "train.py"}}, framework.MPI{}},
		"no command":   {Config{}, framework.MPI{}},
		"torchrun":     {Config{Command: []string{"torchrun", "train.py"}}, framework.Torch{}},
		"auto":         {Config{Framework: "auto", Command: []string{"torchrun", "train.py"}}, framework.Torch{}},
		"named":        {Config{Framework: "plain", Command: []string{"torchrun", "train.py"}}, framework.Plain{}},
		"sparse":       {Config{Framework: "tensorflow", DynamicWorkers: true}, framework.TensorFlow{Sparse: true}},
		"sparse, as it was": {Config{Framework: "tensorflow", DynamicWorkers: true, Compat: framework.KubeflowV1},
			framework.Kubeflow{Kind: "TFJob", Sparse: true}},
		"named, for an mpirun": {Config{Framework: "plain", Command: []string{"mpirun"}}, framework.Plain{}},
	} {
		got, err := choose(tc.cfg, nil)
		require.NoError(t, err, name)
		require.Equal(t, tc.want, got, name)
	}
	_, err := choose(Config{Framework: "troch"}, nil)
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	_, err = choose(Config{Framework: "torch", Compat: "v0"}, nil)
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	for _, cfg := range []Config{{Framework: "torch"}, {Command: []string{"mpirun"}}, {Framework: "torch", Compat: framework.KubeflowV1}} {
		cfg.DynamicWorkers = true
		_, err = choose(cfg, nil)
		require.ErrorContains(t, err, "--dynamic-workers: only tensorflow has it")
		require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	}
}

func TestPorts(t *testing.T) {
	require.Equal(t, 4711, anyPort(4711))
	seen := map[int]bool{}
	for range 100 {
		p := anyPort(0)
		require.GreaterOrEqual(t, p, 20000)
		require.LessOrEqual(t, p+framework.PortBlock, 31000)
		seen[p] = true
	}
	require.Greater(t, len(seen), 50, "another block for each run")
}

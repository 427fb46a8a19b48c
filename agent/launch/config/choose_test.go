package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
)

func TestChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  Config
		want framework.Framework
	}{
		"mpirun":          {Config{Command: []string{"mpirun", "./pi"}}, framework.MPI{}},
		"unknown command": {Config{Command: []string{"python", "train.py"}}, framework.MPI{}},
		"no command":      {Config{}, framework.MPI{}},
		"torchrun":        {Config{Command: []string{"torchrun", "train.py"}}, framework.Torch{}},
		"auto":            {Config{Launching: Launching{Framework: "auto"}, Command: []string{"torchrun", "train.py"}}, framework.Torch{}},
		"named":           {Config{Launching: Launching{Framework: "plain"}, Command: []string{"torchrun", "train.py"}}, framework.Plain{}},
		"sparse":          {Config{Launching: Launching{Framework: "tensorflow"}, Selection: Selection{DynamicWorkers: true}}, framework.TensorFlow{Sparse: true}},
		"sparse, --compat": {Config{Launching: Launching{Framework: "tensorflow", Compat: framework.KubeflowV1}, Selection: Selection{DynamicWorkers: true}},
			framework.Kubeflow{Kind: "TFJob", Sparse: true}},
		"named, with mpirun": {Config{Launching: Launching{Framework: "plain"}, Command: []string{"mpirun"}}, framework.Plain{}},
	} {
		got, err := Choose(tc.cfg, nil)
		require.NoError(t, err, name)
		require.Equal(t, tc.want, got, name)
	}
	_, err := Choose(Config{Launching: Launching{Framework: "troch"}}, nil)
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	_, err = Choose(Config{Launching: Launching{Framework: "torch", Compat: "v0"}}, nil)
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	for _, cfg := range []Config{{Launching: Launching{Framework: "torch"}}, {Command: []string{"mpirun"}}, {Launching: Launching{Framework: "torch", Compat: framework.KubeflowV1}}} {
		cfg.DynamicWorkers = true
		_, err = Choose(cfg, nil)
		require.ErrorContains(t, err, "--dynamic-workers: only tensorflow supports the sparse form")
		require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	}
}

package framework_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/contract"
)

// launcherAPI has the shape of torch/distributed/launcher/api.py.
const launcherAPI = `
class elastic_launch:
    def __init__(self, config, entrypoint):
        self.config = config
    def __call__(self):
        print("launched", self.config.max_nodes)
`

const start = `
from types import SimpleNamespace
from torch.distributed.launcher.api import elastic_launch
try:
    elastic_launch(SimpleNamespace(rdzv_backend=BACKEND, rdzv_endpoint=ENDPOINT, max_nodes=NODES), "train.py")()
except SystemExit as e:
    print(e)
`

// TestHiddenTorchrunIsRefused checks that a torchrun that a script starts fails on several workers
// if its options keep it to its own worker.
func TestHiddenTorchrunIsRefused(t *testing.T) {
	launch, err := framework.Torch{}.Prepare(contract.Cluster(2, 1, []string{"bash", "run.sh"}))
	require.NoError(t, err)
	require.Len(t, launch.Files, 1)
	files := tree(t, map[string]string{launch.Files[0].Name: string(launch.Files[0].Data)})
	torch := tree(t, map[string]string{"torch/__init__.py": "", "torch/distributed/__init__.py": "", "torch/distributed/launcher/__init__.py": "",
		"torch/distributed/launcher/api.py": launcherAPI})
	const refused = "agent: torchrun: with --standalone or --nnodes=1 it would start a separate job on each of the 2 workers"
	for _, c := range []struct {
		backend, endpoint, nodes string
		fake, refused            bool
	}{
		{"'static'", "'198.18.0.10:29500'", "2", false, false},
		{"'c10d'", "'198.18.0.10:29500'", "2", false, false},
		{"'c10d'", "'localhost:0'", "2", false, true},
		{"'c10d'", "'localhost:0'", "2", true, true},
		{"'c10d'", "'localhost:29400'", "2", false, true},
		{"'c10d'", "'localhost:29400'", "2", true, false}, // all workers of a fake run are on this machine
		{"'static'", "'127.0.0.1:29500'", "1", false, true},
	} {
		env := variables(launch.Processes[1].Env)
		if c.fake {
			env["MUSTER_FAKE_WORKER"] = "x"
		}
		out := run(t, files, torch, env, "BACKEND, ENDPOINT, NODES = "+c.backend+", "+c.endpoint+", "+c.nodes+start)
		if c.refused {
			require.Contains(t, out, refused, "%v", c)
			require.NotContains(t, out, "launched")
		} else {
			require.Equal(t, "launched "+c.nodes+"\n", out, "%v", c)
		}
	}
	env := variables(launch.Processes[1].Env)
	env["PET_NNODES"] = "1" // set by the user
	require.Equal(t, "launched 1\n", run(t, files, torch, env, "BACKEND, ENDPOINT, NODES = 'c10d', 'localhost:0', 1"+start))
	other := tree(t, map[string]string{"torch/__init__.py": "", "torch/distributed/__init__.py": "", "torch/distributed/launcher/__init__.py": "",
		"torch/distributed/launcher/api.py": "x = 1"})
	require.Equal(t, "fine\n", run(t, files, other, variables(launch.Processes[1].Env), "import torch.distributed.launcher.api\nprint('fine')"))

	for _, c := range []framework.Cluster{
		contract.Cluster(1, 1, []string{"bash", "run.sh"}),
		contract.Cluster(2, 1, python()),
		contract.Cluster(2, 1, []string{"torchrun", "train.py"}),
	} {
		launch, err := framework.Torch{}.Prepare(c)
		require.NoError(t, err)
		require.Empty(t, launch.Files, "%q on %d workers", c.Command, len(c.Workers))
	}
}

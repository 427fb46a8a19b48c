package join

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/rendezvous/barrier"
)

func table(n int) (list []barrier.Card) {
	for rank := range n {
		list = append(list, barrier.Card{Rank: rank, Name: "job-" + string(rune('0'+rank)), Address: "10.0.0." + string(rune('1'+rank)), Slots: 1, NoGPU: true})
	}
	return list
}

// TestLaunchOf checks that every member computes the same launch from the table, whatever its own
// environment contains.
func TestLaunchOf(t *testing.T) {
	cfg := Config{Workers: 3, Framework: "torch", Procs: 2, Command: []string{"python", "train.py"}}
	one, err := cfg.launchOf(table(3), 2, 21000, place{env: []string{"A=1"}})
	require.NoError(t, err)
	other, err := cfg.launchOf(table(3), 2, 21000, place{env: []string{"GLOO_SOCKET_IFNAME=x"}})
	require.NoError(t, err)
	require.Equal(t, one, other)
	require.Len(t, one.Processes, 6)
	env, _ := cfg.environment(one.Processes[3], 2, "", place{env: []string{"PATH=/bin", "MUSTER_TOKEN=secret", "RANK=9", "A=1", "A=2"}})
	for _, want := range []string{"WORLD_SIZE=6", "LOCAL_RANK=1", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=21000", "MUSTER_ATTEMPT=2", "PATH=/bin", "A=2", "RANK=9"} {
		require.Contains(t, env, want)
	}
	require.NotContains(t, strings.Join(env, "\n"), "secret")
	require.False(t, slices.Contains(env, "A=1"), "each variable is set once")

	for command, want := range map[string]string{
		"horovodrun python train.py": "because it starts processes on other pods: agent join has none",
		"mpirun ./program":           "MPI needs a launcher",
	} {
		cfg := Config{Workers: 3, Command: strings.Fields(command)}
		_, err := cfg.launchOf(table(3), 0, 21000, place{dir: "/run", agent: "/agent"})
		require.ErrorContains(t, err, want, command)
	}
	for command, want := range map[string]string{"torchrun train.py": "3", "true": "3"} { // torchrun may also be hidden
		cfg := Config{Workers: 3, Command: []string{"bash", "-c", command}}
		launch, err := cfg.launchOf(table(3), 0, 21000, place{dir: "/run", agent: "/agent"})
		require.NoError(t, err)
		require.Len(t, launch.Processes, 3)
		require.Contains(t, launch.Processes[2].Env, framework.Var{Name: "PET_NNODES", Value: want, Why: "for a torchrun behind a script: number of workers"})
	}
	_, err = Config{Workers: 3, Command: []string{"sh", "-c", "torchrun --standalone train.py"}}.launchOf(table(3), 0, 21000, place{dir: "/run", agent: "/agent"})
	require.ErrorContains(t, err, "torchrun --standalone would start a separate job on each of the 3 workers")
	cfg.Success = "chief"
	_, err = cfg.launchOf(table(3), 0, 21000, place{})
	require.ErrorContains(t, err, "--success=chief: no such process")
}

func TestFilesAreNamed(t *testing.T) {
	p := framework.Process{Env: []framework.Var{{Name: "PYTHONPATH", Value: framework.FilesDir + "/x", Why: "y", Extend: ":"}}}
	env, _ := Config{}.environment(p, 0, "/run/laid", place{env: []string{"PYTHONPATH=/mine"}})
	require.Contains(t, env, "PYTHONPATH=/run/laid/x:/mine")
}

// TestCompat checks that members get the variables that Kubeflow's operator set, with host names
// that begin with the name of the job.
func TestCompat(t *testing.T) {
	cfg := Config{Workers: 3, Slots: 1, Framework: "tensorflow", Compat: framework.KubeflowV1, Job: "mnist", Namespace: "hpc",
		Roles: "chief=1,ps=1,worker=1", Command: []string{"python", "train.py"}}
	launch, err := cfg.launchOf(table(3), 0, 21000, place{})
	require.NoError(t, err)
	env, _ := cfg.environment(launch.Processes[1], 0, "", place{})
	require.Contains(t, env, `TF_CONFIG={"cluster":{"chief":["mnist-chief-0.hpc.svc:2222"],"ps":["mnist-ps-0.hpc.svc:2222"],`+
		`"worker":["mnist-worker-0.hpc.svc:2222"]},"task":{"type":"ps","index":0},"environment":"cloud"}`)

	for want, wrong := range map[string]func(*Config){
		"needs --job":                func(c *Config) { c.Job = "" },
		"--compat=v0: unknown value": func(c *Config) { c.Compat = "v0" },
		"--compat=kubeflow-v1 does not support --framework=ray": func(c *Config) { c.Framework = "ray" },
	} {
		c := cfg
		wrong(&c)
		_, err := c.framework()
		require.ErrorContains(t, err, want)
	}
}

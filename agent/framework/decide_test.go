package framework

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func parts(l Launch) map[string]Part {
	m := map[string]Part{}
	for _, p := range l.Processes {
		m[p.Role+":"+string(rune('0'+p.Index))] = p.Part
	}
	return m
}

func TestDecide(t *testing.T) {
	crew := Launch{Processes: []Process{
		{Role: "chief", Part: Decides}, {Role: "worker"}, {Role: "worker", Index: 1}, {Role: "ps", Part: Serves},
	}}
	before := parts(crew)
	for rule, want := range map[string]map[string]Part{
		"":         before,
		"auto":     before,
		"all":      {"chief:0": Works, "worker:0": Works, "worker:1": Works, "ps:0": Serves},
		"any":      {"chief:0": Works, "worker:0": Works, "worker:1": Works, "ps:0": Serves},
		"worker":   {"chief:0": Works, "worker:0": Decides, "worker:1": Decides, "ps:0": Serves},
		"Worker":   {"chief:0": Works, "worker:0": Decides, "worker:1": Decides, "ps:0": Serves},
		"worker:1": {"chief:0": Works, "worker:0": Works, "worker:1": Decides, "ps:0": Serves},
		"chief:0":  before,
		"ps":       {"chief:0": Works, "worker:0": Works, "worker:1": Works, "ps:0": Decides},
	} {
		got, err := Decide(crew, rule)
		require.NoError(t, err, rule)
		require.Equal(t, want, parts(got), rule)
		require.Equal(t, rule == "any", got.Any, rule)
		require.Equal(t, before, parts(crew), "%s changed the launch it was given", rule)
	}
	for rule, want := range map[string]string{
		"master":    "--success=master: no such process, want chief:0, worker:0 to worker:1, ps:0; or auto, all, any",
		"worker:2":  "--success=worker:2: no such process",
		"worker:x":  `--success=worker:x: "x" is not an index`,
		"worker:":   `"" is not an index`,
		"worker:-1": `"-1" is not an index`,
	} {
		_, err := Decide(crew, rule)
		require.ErrorContains(t, err, want)
	}
	_, err := Decide(Launch{Argv: []string{"mpirun"}}, "all")
	require.ErrorContains(t, err, "the command runs in the launcher, and its own exit code decides")
	elastic, err := Decide(Launch{Any: true, Processes: crew.Processes}, "all")
	require.NoError(t, err)
	require.False(t, elastic.Any)
}

// TestDecidingRoles checks what each framework's roles mean for the job's result if the user sets
// no rule.
func TestDecidingRoles(t *testing.T) {
	for name, tc := range map[string]struct {
		framework Framework
		roles     string
		want      map[string]Part
	}{
		"torch":                {Torch{}, "", map[string]Part{"worker:0": Works, "worker:1": Works, "worker:2": Works, "worker:3": Works}},
		"torch with a master":  {Torch{}, "worker=3,master=1", map[string]Part{"master:0": Decides, "worker:0": Works, "worker:1": Works, "worker:2": Works}},
		"xgboost":              {XGBoost{}, "master=1,worker=3", map[string]Part{"master:0": Decides, "worker:0": Works, "worker:1": Works, "worker:2": Works}},
		"tensorflow":           {TensorFlow{}, "", map[string]Part{"worker:0": Decides, "worker:1": Works, "worker:2": Works, "worker:3": Works}},
		"tensorflow, chief":    {TensorFlow{}, "chief=1,ps=1,worker=1,evaluator=1", map[string]Part{"chief:0": Decides, "worker:0": Works, "ps:0": Serves, "evaluator:0": Serves}},
		"tensorflow, master":   {TensorFlow{}, "ps=1,worker=2,master=1", map[string]Part{"master:0": Decides, "worker:0": Works, "worker:1": Works, "ps:0": Serves}},
		"tensorflow, no chief": {TensorFlow{}, "ps=2,worker=2", map[string]Part{"worker:0": Decides, "worker:1": Works, "ps:0": Serves, "ps:1": Serves}},
		"mxnet":                {MXNet{}, "scheduler=1,server=1,worker=2", map[string]Part{"scheduler:0": Serves, "server:0": Serves, "worker:0": Works, "worker:1": Works}},
		"paddle":               {Paddle{}, "ps=2,trainer=2", map[string]Part{"trainer:0": Works, "trainer:1": Works, "ps:0": Serves, "ps:1": Serves}},
		"ray":                  {Ray{}, "", map[string]Part{"driver:0": Decides, "head:0": Serves, "node:0": Serves, "node:1": Serves, "node:2": Serves}},
	} {
		t.Run(name, func(t *testing.T) {
			c := onWorkers(t, 4, tc.roles)
			launch, err := tc.framework.Prepare(c)
			require.NoError(t, err)
			require.Equal(t, tc.want, parts(launch))
			require.False(t, launch.Any)
		})
	}
	c := onWorkers(t, 4, "")
	c.Command, c.LeastWorkers = []string{"torchrun", "t.py"}, 2
	launch, err := Torch{}.Prepare(c)
	require.NoError(t, err)
	require.True(t, launch.Any, "in an elastic job, the first process that succeeds decides")
}

func onWorkers(t *testing.T, n int, roles string) Cluster {
	c := pods()
	c.Workers, c.Port, c.Command = workers(make3(n)...), 29500, []string{"python3", "t.py"}
	list, err := ParseRoles(roles, n)
	require.NoError(t, err)
	for i, r := range list {
		c.Workers[i].Role, c.Workers[i].RoleIndex = r.Name, r.Index
	}
	return c
}

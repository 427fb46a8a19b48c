package framework

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRoles(t *testing.T) {
	roles, err := ParseRoles(" Chief=1, ps=2,worker=1", 4)
	require.NoError(t, err)
	require.Equal(t, []Role{{"chief", 0}, {"ps", 0}, {"ps", 1}, {"worker", 0}}, roles)
	roles, err = ParseRoles(" ", 4)
	require.NoError(t, err)
	require.Nil(t, roles)

	for text, want := range map[string]string{
		"chief=1,worker=2":       "--roles=chief=1,worker=2 is for 3 workers, but the job has 4",
		"worker=9000000":         "is for 9000000 workers",
		"worker=1,ps=1,worker=2": "worker is named twice",
		"worker":                 `"worker" is not NAME=COUNT, as in chief=1,worker=2`,
		"worker=4,":              `"" is not NAME=COUNT`,
		"=4":                     `"=4" is not NAME=COUNT`,
		"worker=0,ps=4":          `worker has the count "0", want a number from 1`,
		"worker=-1":              `worker has the count "-1"`,
		"worker=many":            `worker has the count "many"`,
		"a:b=4":                  `"a:b" is not a valid role name`,
	} {
		roles, err := ParseRoles(text, 4)
		require.ErrorContains(t, err, want)
		require.Nil(t, roles)
	}
}

func FuzzParseRoles(f *testing.F) {
	f.Add("chief=1,ps=1,worker=2", 4)
	f.Add("worker=99999999999999999999", 1)
	f.Add(",=,", 0)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(n, 1000)
		roles, err := ParseRoles(text, n)
		if err != nil || roles == nil {
			return
		}
		require.Len(t, roles, n)
		next := map[string]int{}
		for _, r := range roles {
			require.Equal(t, next[r.Name], r.Index)
			next[r.Name]++
		}
	})
}

// TestPrepareOnWorkersRefuses checks that an error names what the framework cannot use.
func TestPrepareOnWorkersRefuses(t *testing.T) {
	all := []Framework{Plain{}, Torch{}, TensorFlow{}, JAX{}, Paddle{}, XGBoost{}, LightGBM{}, MXNet{}, Ray{}, DeepSpeed{}}
	for want, change := range map[string]func(*Cluster){
		"no workers":                      func(c *Cluster) { c.Workers = nil },
		"no command":                      func(c *Cluster) { c.Command = nil },
		"-1 processes per worker":         func(c *Cluster) { c.Procs = -1 },
		`worker "w-1" has no address`:     func(c *Cluster) { c.Workers[1].IP, c.Workers[1].Host = "", "" },
		"ports 64537 to 65536 are needed": func(c *Cluster) { c.Port = 64537 },
		"port 0:":                         func(c *Cluster) { c.Port = 0 },
	} {
		for _, f := range all {
			c := onWorkers(t, 4, "")
			change(&c)
			launch, err := f.Prepare(c)
			require.ErrorContains(t, err, want, "%T", f)
			require.Zero(t, launch)
		}
	}
	for want, tc := range map[string]struct {
		framework Framework
		roles     string
		change    func(*Cluster)
	}{
		`worker "w-0" has the role ps, which torch does not have: want one of master, worker`: {Torch{}, "ps=1,worker=3", nil},
		`has the role master, which jax does not have: want one of worker`:                    {JAX{}, "master=1,worker=3", nil},
		"2 workers have the role master, want 1":                                              {Torch{}, "master=2,worker=2", nil},
		"2 workers have the role chief":                                                       {TensorFlow{}, "chief=2,worker=2", nil},
		"the roles chief and master":                                                          {TensorFlow{}, "chief=1,master=1,worker=2", nil},
		"1 of 4 workers have no role":                                                         {TensorFlow{}, "chief=1,worker=3", func(c *Cluster) { c.Workers[3].Role = "" }},
		"all workers have the role ps or evaluator":                                           {TensorFlow{}, "ps=3,evaluator=1", nil},
		"no worker has the role scheduler":                                                    {MXNet{}, "server=2,worker=2", nil},
		"all workers are parameter servers":                                                   {Paddle{}, "ps=4", nil},
		"run the script without paddle.distributed.launch":                                    {Paddle{}, "ps=1,trainer=3", func(c *Cluster) { c.Command = []string{"python", "-m", "paddle.distributed.launch", "t.py"} }},
		"WORLD_SIZE=5 is set but is not a multiple of 2 processes":                            {Torch{}, "", func(c *Cluster) { c.Procs, c.UserEnv = 2, []string{"WORLD_SIZE=5"} }},
		"the server that horovodrun runs: horovodrun python3 t.py":                            {Horovod{}, "", nil},
		"Muster starts the head and the nodes":                                                {Ray{}, "", func(c *Cluster) { c.Command = []string{"ray", "start", "--head"} }},
		"more than one worker has the role head":                                              {Ray{}, "head=2,worker=2", nil},
		"more than 900 processes at the address 10.0.0.1 of worker":                           {LightGBM{}, "", func(c *Cluster) { c.Procs = 901 }},
	} {
		t.Run(want, func(t *testing.T) {
			c := onWorkers(t, 4, tc.roles)
			if tc.change != nil {
				tc.change(&c)
			}
			launch, err := tc.framework.Prepare(c)
			require.ErrorContains(t, err, want)
			require.Zero(t, launch)
		})
	}
}

// TestElasticByRestart checks that a framework without its own elastic mode is launched as usual:
// the group restarts when its workers change.
func TestElasticByRestart(t *testing.T) {
	for _, f := range []Framework{Plain{}, Torch{}, TensorFlow{}, JAX{}, Paddle{}, XGBoost{}, LightGBM{}, MXNet{}, Ray{}} {
		c := onWorkers(t, 4, "")
		want, err := f.Prepare(c)
		require.NoError(t, err)
		c.LeastWorkers, c.MostWorkers = 2, 5
		launch, err := f.Prepare(c)
		require.NoError(t, err)
		require.Equal(t, want, launch)
		require.False(t, launch.Elastic)
	}
}

// TestTorchrunMinimumStaysWhenAWorkerJoins checks that all torchruns of an attempt have the same
// minimum, no matter when they start. torchrun waits forever if the minimums differ.
func TestTorchrunMinimumStaysWhenAWorkerJoins(t *testing.T) {
	first := onWorkers(t, 2, "")
	first.Command, first.LeastWorkers, first.MostWorkers = []string{"torchrun", "t.py"}, 1, 4
	joined := onWorkers(t, 3, "")
	joined.Command, joined.LeastWorkers, joined.MostWorkers, joined.FirstWorkers = first.Command, 1, 4, 2
	for _, c := range []Cluster{first, joined} {
		launch, err := Torch{}.Prepare(c)
		require.NoError(t, err)
		for _, p := range launch.Processes {
			require.Contains(t, p.Env, Var{Name: "PET_NNODES", Value: "2:4", Why: "number of workers at the start of the attempt, and the maximum"})
		}
	}
}

// TestTorchrunStore checks that the store of an elastic torchrun does not move when a lower rank
// joins.
func TestTorchrunStore(t *testing.T) {
	c := onWorkers(t, 3, "")
	c.Command, c.LeastWorkers, c.MostWorkers, c.Store = []string{"torchrun", "t.py"}, 2, 5, 1
	launch, err := Torch{}.Prepare(c)
	require.NoError(t, err)
	require.True(t, launch.Elastic)
	var order []int
	for _, p := range launch.Processes {
		order = append(order, p.Worker)
		env := map[string]string{}
		for _, v := range p.Env {
			env[v.Name] = v.Value
		}
		require.Equal(t, "3:5", env["PET_NNODES"])
		require.Equal(t, c.Workers[1].IP+":29501", env["PET_RDZV_ENDPOINT"])
		require.Equal(t, p.Worker == 1, strings.HasPrefix(env["PET_RDZV_CONF"], "is_host=1"))
	}
	require.Equal(t, []int{1, 0, 2}, order)
}

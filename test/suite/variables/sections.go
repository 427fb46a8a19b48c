package variables

import "github.com/musterhq/muster/agent/framework"

func python() []string { return []string{"python", "train.py"} }

func torchrun() []string { return []string{"torchrun", "train.py"} }

func several(c *framework.Cluster) { c.Procs = 2 }

// gpus gives each worker four GPUs.
func gpus(c *framework.Cluster) {
	c.NoGPU = false
	for i := range c.Workers {
		c.Workers[i].GPUs = 4
	}
}

// sharing gives the GPUs of each worker to two processes.
func sharing(c *framework.Cluster) {
	gpus(c)
	several(c)
}

const (
	ifSeveral = "with several processes on a worker"
	ifShared  = "with several processes and GPUs on a worker"
)

// topics lists the ways to start a program.
func topics() []topic {
	plain, torch, paddle := framework.Plain{}, framework.Torch{}, framework.Paddle{}
	program := []string{"./program"}
	return append([]topic{
		{title: "Any program", command: "agent run --framework=plain -- ./program", ways: []way{
			{of: plain, words: program},
			{of: plain, words: program, roles: "worker=1,helper=1", when: "with roles"},
		}},
		{title: "PyTorch", command: "agent run --framework=torch -- python train.py", ways: []way{
			{of: torch, words: python()},
			{of: torch, words: python(), change: several, when: ifSeveral},
			{of: torch, words: []string{"./train"}, when: "if the command is no Python script"},
		}},
		{title: "torchrun", command: "agent run -- torchrun train.py", all: "torchrun on each worker", ways: []way{{of: torch, words: torchrun()}}},
		{title: "Elastic torchrun", command: "agent run --min-workers=1 --max-workers=4 -- torchrun train.py", all: "torchrun on each worker", ways: []way{
			{of: torch, words: torchrun(), change: func(c *framework.Cluster) { c.LeastWorkers, c.MostWorkers = 1, 4 }},
		}},
		{title: "accelerate launch", command: "agent run -- accelerate launch train.py", all: "accelerate on each worker", ways: []way{
			{of: torch, words: []string{"accelerate", "launch", "train.py"}, change: gpus},
			{of: torch, words: []string{"accelerate", "launch", "train.py"}, when: "without GPUs"},
		}},
		{title: "TensorFlow", command: "agent run --framework=tensorflow --roles=chief=1,worker=1 -- python train.py", ways: []way{
			{of: framework.TensorFlow{}, words: python(), roles: "chief=1,worker=1"},
		}},
		{title: "JAX", command: "agent run --framework=jax -- python train.py", ways: []way{
			{of: framework.JAX{}, words: python()},
			{of: framework.JAX{}, words: python(), change: several, when: ifSeveral},
			{of: framework.JAX{}, words: python(), change: sharing, when: ifShared},
		}},
		{title: "Paddle", command: "agent run --framework=paddle -- python train.py", ways: []way{
			{of: paddle, words: python()},
			{of: paddle, words: python(), change: sharing, when: ifShared},
		}},
		{title: "Paddle's launcher", command: "agent run -- python -m paddle.distributed.launch train.py", all: "the launcher on each worker", ways: []way{
			{of: paddle, words: []string{"python", "-m", "paddle.distributed.launch", "train.py"}},
		}},
		{title: "Paddle with parameter servers", command: "agent run --framework=paddle --roles=ps=1,trainer=1 -- python train.py", ways: []way{
			{of: paddle, words: python(), roles: "ps=1,trainer=1"},
		}},
		{title: "XGBoost", command: "agent run --framework=xgboost -- python train.py", ways: []way{{of: framework.XGBoost{}, words: python()}}},
		{title: "LightGBM", command: "agent run --framework=lightgbm -- python train.py", ways: []way{{of: framework.LightGBM{}, words: python()}}},
		{title: "MXNet and BytePS", command: "agent run --framework=mxnet -- python train.py", ways: []way{{of: framework.MXNet{}, words: python()}}},
		{title: "Ray", command: "agent run --framework=ray -- python driver.py", ways: []way{{of: framework.Ray{}, words: []string{"python", "driver.py"}}}},
	}, mpiTopics()...)
}

// mpiTopics lists what commands in the launcher get: mpirun, horovodrun and deepspeed.
func mpiTopics() []topic {
	mpirun := []string{"mpirun", "./program"}
	fake := func(c *framework.Cluster) { c.Fake = true }
	families := func(of framework.Framework, more ...way) []way {
		ways := append([]way{{of: of, words: mpirun}}, more...)
		return append(ways,
			way{of: of, words: mpirun, change: func(c *framework.Cluster) { c.SharedCores = true }, when: "if workers share cores"},
			way{of: of, words: mpirun, change: fake, when: "with `--fake`"})
	}
	root := way{of: framework.OpenMPI{}, words: mpirun, change: func(c *framework.Cluster) { c.Root = true }, when: "as root"}
	crowded := way{of: framework.OpenMPI{}, words: mpirun, when: "with `--fake`", change: func(c *framework.Cluster) { c.Fake, c.Processors = true, 1 }}
	bare := func(c *framework.Cluster) { c.Home, c.Temp, c.NoPasswd = c.RunDir, c.RunDir+"/tmp", true }
	return []topic{
		{title: "Open MPI", command: "agent run -- mpirun ./program", ways: append(families(framework.OpenMPI{}, root), crowded)},
		{title: "MPICH", command: "agent run -- mpiexec ./program", ways: families(framework.MPICH{})},
		{title: "Intel MPI", command: "agent run -- mpirun ./program", ways: families(framework.IntelMPI{})},
		{title: "Any MPI", command: "agent run -- mpirun ./program", ways: []way{{of: onlyMPI{}, words: mpirun}, {of: onlyMPI{}, words: mpirun, change: bare, when: "if it has none"}}},
	}
}

// onlyMPI has the variables of MPI that no family has.
type onlyMPI struct{}

// Prepare implements framework.Framework.
func (onlyMPI) Prepare(c framework.Cluster) (framework.Launch, error) {
	all, err := framework.MPI{}.Prepare(c)
	if err != nil {
		return all, err
	}
	of := map[string]bool{}
	for _, family := range []framework.Framework{framework.OpenMPI{}, framework.MPICH{}, framework.IntelMPI{}} {
		part, err := family.Prepare(c)
		if err != nil {
			return part, err
		}
		for _, v := range part.Env {
			of[v.Name] = true
		}
	}
	var rest framework.Launch
	for _, v := range all.Env {
		if !of[v.Name] {
			rest.Env = append(rest.Env, v)
		}
	}
	return rest, nil
}

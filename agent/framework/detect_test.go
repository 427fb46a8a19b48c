package framework

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDetect(t *testing.T) {
	for command, want := range map[string]string{
		"mpirun -np 4 ./pi":                                     "mpi",
		"/opt/openmpi/bin/mpirun.openmpi ./pi":                  "mpi",
		"mpiexec.hydra ./pi":                                    "mpi",
		"prterun ./pi":                                          "mpi",
		"torchrun train.py":                                     "torch",
		"/venv/bin/torchrun --nproc_per_node 2 train.py":        "torch",
		"python -m torch.distributed.run train.py":              "torch",
		"python3 -u -m torch.distributed.launch train.py":       "torch",
		"python3.11 -X dev -um torch.distributed.run train.py":  "torch",
		"env OMP_NUM_THREADS=1 torchrun train.py":               "torch",
		"/usr/bin/env python3 -m torch.distributed.run t.py":    "torch",
		"accelerate launch train.py":                            "torch",
		"accelerate-launch train.py":                            "torch",
		"accelerate config":                                     "",
		"accelerate":                                            "",
		"python -m accelerate.commands.launch train.py":         "torch",
		"horovodrun -np 2 python train.py":                      "horovod",
		"python -m horovod.runner.launch -np 2 python train.py": "horovod",
		"deepspeed train.py":                                    "deepspeed",
		"ds train.py":                                           "deepspeed",
		"ray job submit -- python x.py":                         "ray",
		"python -m paddle.distributed.launch train.py":          "paddle",

		"python train.py": "",
		"python3 -u train.py -m torch.distributed.run": "",
		"python -c print(1) -m torch.distributed.run":  "",
		"python -m":                           "",
		"python -W":                           "",
		"python":                              "",
		"python -m pytest":                    "",
		"./mpirun-wrapper":                    "",
		"pythonista -m torch.distributed.run": "",
		"sh -c torchrun":                      "",
		"env":                                 "",
		"env A=1":                             "",
		"":                                    "",
	} {
		require.Equal(t, want, Detect(strings.Fields(command)), command)
	}
}

// TestOptionsFollowTheLauncher checks that our options follow the launcher's own words, and that no
// option occurs twice.
func TestOptionsFollowTheLauncher(t *testing.T) {
	c := pods()
	c.Port = 7000
	for command, want := range map[string]string{
		"horovodrun python t.py":                                         "horovodrun -np 4 -H 10.0.0.1:2,10.0.0.2:2 python t.py",
		"horovodrun -np 3 python t.py":                                   "horovodrun -H 10.0.0.1:2,10.0.0.2:2 -np 3 python t.py",
		"horovodrun --num-proc=3 -H a:1,b:1 python t.py":                 "horovodrun --num-proc=3 -H a:1,b:1 python t.py",
		"horovodrun --host-discovery-script ./d python t.py":             "horovodrun -np 4 --host-discovery-script ./d python t.py",
		"env A=1 horovodrun -hostfile f -np 2 python t.py":               "env A=1 horovodrun -hostfile f -np 2 python t.py",
		"python3 -m horovod.runner.launch -np 2 --hosts=a:2 python t.py": "python3 -m horovod.runner.launch -np 2 --hosts=a:2 python t.py",
		"deepspeed t.py":                      "deepspeed --hostfile /etc/mpi/hostfile --master_addr 10.0.0.1 --master_port 7000 t.py",
		"deepspeed -H f --master_port=1 t.py": "deepspeed --master_addr 10.0.0.1 -H f --master_port=1 t.py",
		"python -m deepspeed.launcher.runner --hostfile=f --master_addr a t": "python -m deepspeed.launcher.runner --master_port 7000 --hostfile=f --master_addr a t",
	} {
		c.Command = strings.Fields(command)
		f, err := Named(Detect(c.Command))
		require.NoError(t, err)
		launch, err := f.Prepare(c)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(launch.Argv, " "), command)
		require.Empty(t, launch.Processes)
		require.True(t, launch.Shims)
	}
	c.Workers = workers(4)
	c.Command = []string{"ds", "t.py"}
	launch, err := DeepSpeed{}.Prepare(c)
	require.NoError(t, err)
	require.Contains(t, launch.Argv, "--force_multi", "with one worker, deepspeed would train in the launcher")
}

func TestAccelerateKeepsTheUsersOptions(t *testing.T) {
	c := pods()
	c.Port, c.Procs = 7000, 4
	for i := range c.Workers {
		c.Workers[i].GPUs = 4
	}
	for command, want := range map[string]string{
		"accelerate launch --num_processes 2 --multi-gpu t.py": "accelerate launch --main_process_ip 10.0.0.1 --main_process_port 7000 --num_machines 2 --machine_rank 0 --num_processes 2 --multi-gpu t.py",
		"accelerate-launch --config_file=c.yaml t.py":          "accelerate-launch --main_process_ip 10.0.0.1 --main_process_port 7000 --num_machines 2 --machine_rank 0 --num_processes 8 --config_file=c.yaml t.py",
		"accelerate launch --use_deepspeed t.py":               "accelerate launch --main_process_ip 10.0.0.1 --main_process_port 7000 --num_machines 2 --machine_rank 0 --num_processes 8 --deepspeed_multinode_launcher standard --use_deepspeed t.py",
	} {
		c.Command = strings.Fields(command)
		launch, err := Torch{}.Prepare(c)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(launch.Processes[0].Argv, " "))
	}
}

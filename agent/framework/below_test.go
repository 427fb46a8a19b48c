package framework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestDetectBehindWrappers(t *testing.T) {
	for command, want := range map[string]string{
		"timeout 10m torchrun train.py":                          "torch",
		"timeout -s KILL --foreground 10 torchrun train.py":      "torch",
		"timeout -k 5 10 mpirun ./pi":                            "mpi",
		"numactl --cpunodebind=0 -m 0 torchrun train.py":         "torch",
		"numactl -N 0-1 -l python -m torch.distributed.run t.py": "torch",
		"taskset -c 0-3 torchrun train.py":                       "torch",
		"nice -n 10 nohup torchrun train.py":                     "torch",
		"env -u RANK -i A=1 torchrun train.py":                   "torch",
		"env -C src torchrun train.py":                           "torch",
		"exec accelerate launch train.py":                        "torch",
		"stdbuf -oL -eL horovodrun -np 2 python t.py":            "horovod",
		"tini -- torchrun train.py":                              "torch",
		"uv run torchrun train.py":                               "torch",
		"conda run -n lab --no-capture-output torchrun train.py": "torch",
		"conda install torchrun":                                 "",
		"timeout 10 ./train torchrun":                            "",
		"timeout 10":                                             "",
		"uv run":                                                 "",
		"nice ./torchrun-wrapper":                                "",
	} {
		require.Equal(t, want, Detect(strings.Fields(command)), command)
	}
}

func TestBelow(t *testing.T) {
	files := map[string]string{
		"run.sh":      "#!/bin/bash\nset -euo pipefail\n# torchrun --standalone old.py\nexport A=1\nif true; then\n  A=2 exec torchrun \\\n    --nproc-per-node 2 train.py \"$@\"\nfi\n",
		"./both.sh":   "#!/bin/sh\nmpirun -np 2 ./prepare\ntorchrun train.py\n",
		"./prose.sh":  "#!/bin/sh\necho usage: torchrun train.py\nhelp='torchrun x'\n",
		"launch.py":   "\"\"\"Usage: torchrun --standalone train.py\"\"\"\nimport subprocess, sys\ncommand = [sys.executable, '-m', 'torch.distributed.run',\n  '--standalone', 'train.py']\nsubprocess.run(command)\n",
		"system.py":   "import os\nos.system('cd src && accelerate launch train.py')\n",
		"train.py":    "# started by torchrun\nimport torch.distributed as dist\nparser.add_argument('--launcher', help='it is started by torchrun')\n",
		"./shebang":   "#!/usr/bin/env python3\nimport subprocess\nsubprocess.check_call([\"torchrun\", \"train.py\"])\n",
		"./program":   "\x7fELF torchrun",
		"Makefile":    "N := 2\n.PHONY: train\nall: train\nother:\n\tmpirun ./x\ntrain: data\n\t@echo begin\n\t-torchrun train.py\ndata:\n\ttrue\n",
		"lab/mk":      "go:\n\tpython3 -m torch.distributed.run \\\n\t  train.py\n",
		"paddle.bash": "python -m paddle.distributed.launch train.py\n",
	}
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"bash", "-c", "torchrun --standalone train.py"}, "torchrun --standalone train.py"},
		{[]string{"bash", "-euxo", "pipefail", "-c", "cd src && exec torchrun 'train.py' | tee log"}, "torchrun train.py"},
		{[]string{"env", "A=1", "sh", "-lc", "(timeout 5 torchrun train.py)"}, "torchrun train.py"},
		{[]string{"sh", "-c", "bash -c 'torchrun train.py'"}, "torchrun train.py"},
		{[]string{"sh", "-c", "l=torchrun; $l train.py"}, ""},
		{[]string{"sh", "-c", "grep torchrun log; ./torchrun.sh"}, ""},
		{[]string{"sh", "-c", "torchrun a.py; mpirun ./b"}, ""},
		{[]string{"sh", "-c"}, ""},
		{[]string{"sh"}, ""},
		{[]string{"bash", "-e", "run.sh", "more"}, "torchrun --nproc-per-node 2 train.py $@"},
		{[]string{"bash", "nowhere.sh"}, ""},
		{[]string{"./both.sh"}, ""},
		{[]string{"./prose.sh"}, ""},
		{[]string{"./program"}, ""},
		{[]string{"./shebang"}, "torchrun train.py"},
		{[]string{"python", "-u", "launch.py"}, "python -m torch.distributed.run --standalone train.py"},
		{[]string{"python", "system.py"}, "accelerate launch train.py"},
		{[]string{"python", "train.py"}, ""},
		{[]string{"python", "-c", "import os; os.execvp('torchrun', ['torchrun', 'train.py'])"}, "torchrun train.py"},
		{[]string{"make"}, "torchrun train.py"},
		{[]string{"make", "-j2", "train", "N=4"}, "torchrun train.py"},
		{[]string{"make", "other"}, ""},
		{[]string{"make", "-C", "lab", "-f", "mk", "go"}, "python3 -m torch.distributed.run train.py"},
		{[]string{"bash", "paddle.bash"}, "python -m paddle.distributed.launch train.py"},
		{[]string{"torchrun", "train.py"}, ""},
		{nil, ""},
	} {
		words := Below(c.argv, func(path string) string { return files[path] })
		require.Equal(t, c.want, strings.Join(words, " "), "%q", c.argv)
	}
}

// TestScripts checks that Scripts reads files but no pipes, because a pipe can be read only once.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o644))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	read := Scripts(dir)
	require.Equal(t, "text", read("a"))
	require.Equal(t, "text", read(filepath.Join(dir, "a")))
	require.Empty(t, read("fifo"))
	require.Empty(t, read("none"))
	require.Empty(t, read("."))
}

func TestLauncherIn(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/python3 /venv/bin/torchrun train.py":          "torchrun",
		"python3 -m torch.distributed.run train.py":             "torchrun",
		"/usr/bin/python3 /venv/bin/accelerate launch train.py": "accelerate launch",
		"/usr/bin/python3 /venv/bin/deepspeed train.py":         "deepspeed",
		"/usr/bin/python3 train.py":                             "",
		"bash -c torchrun":                                      "",
		"mpirun -np 2 ./pi":                                     "",
		"":                                                      "",
	} {
		require.Equal(t, want, LauncherIn(strings.Fields(command)), command)
	}
}

// TestLoneIn checks that LoneIn finds a running torchrun that trains alone.
func TestLoneIn(t *testing.T) {
	told, untold := []string{"A=1", "PET_NNODES=2"}, []string{"A=1"}
	for _, c := range []struct {
		command string
		env     []string
		want    string
	}{
		{"/usr/bin/python3 /venv/bin/torchrun --standalone train.py", told, "torchrun --standalone"},
		{"python3 -m torch.distributed.run --nnodes 1 train.py", told, "torchrun --nnodes=1"},
		{"torchrun --rdzv-endpoint=localhost:0 train.py", told, "torchrun --rdzv_endpoint=localhost:0"},
		{"torchrun train.py", untold, "torchrun"},
		{"torchrun train.py", told, ""},
		{"torchrun train.py", nil, ""}, // the environment is unknown
		{"torchrun --nnodes=2 --master-addr=10.0.0.1 train.py", untold, ""},
		{"torchrun train.py --standalone", told, ""},
		{"torchrun --help", untold, ""},
		{"python3 train.py --standalone", untold, ""},
		{"accelerate launch train.py", untold, ""},
		{"", nil, ""},
	} {
		require.Equal(t, c.want, LoneIn(strings.Fields(c.command), c.env), c.command)
	}
}

// TestTorchBelow checks that a torchrun behind a script gets the same variables as a torchrun that
// is the command. If an option makes each worker a separate job, Prepare returns an error.
func TestTorchBelow(t *testing.T) {
	prepare := func(c Cluster) (string, error) {
		c.Command = []string{"bash", "-c", "..."}
		launch, err := Torch{}.Prepare(c)
		if err != nil {
			return "", err
		}
		var said []string
		for _, p := range launch.Processes {
			env := map[string]string{}
			for _, v := range p.Env {
				env[v.Name] = v.Value
			}
			said = append(said, env["PET_NODE_RANK"]+"/"+env["PET_NNODES"]+"x"+env["PET_NPROC_PER_NODE"])
		}
		return strings.Join(said, " "), nil
	}
	c := pods()
	c.Port = 7000
	torchrun := []string{"torchrun", "train.py"}
	for _, row := range []struct {
		below []string
		procs int
		gpus  int
		want  string
	}{
		{torchrun, 0, 0, "0/2x1 1/2x1"},
		{torchrun, 3, 0, "0/2x3 1/2x3"},
		{torchrun, 0, 8, "0/2x8 1/2x8"},
		{nil, 0, 8, "0/2x8 1/2x8"},
		{nil, 2, 0, "0/4x1 1/4x1 2/4x1 3/4x1"},
		{[]string{"accelerate", "launch", "train.py"}, 2, 2, "0/2x2 1/2x2"},
	} {
		c.Below, c.Procs = row.below, row.procs
		for i := range c.Workers {
			c.Workers[i].GPUs = row.gpus
		}
		got, err := prepare(c)
		require.NoError(t, err)
		require.Equal(t, row.want, got, "%v", row)
	}
	for options, want := range map[string]string{
		"torchrun --standalone":                        "--standalone",
		"torchrun --nproc_per_node 2 --standalone":     "--standalone",
		"python -m torch.distributed.run --nnodes=1":   "--nnodes=1",
		"torchrun --nnodes 1:1":                        "--nnodes=1:1",
		"torchrun --rdzv-endpoint=localhost:29400":     "--rdzv_endpoint=localhost:29400",
		"torchrun --master_addr 127.0.0.1":             "--master_addr=127.0.0.1",
		"accelerate launch --num_machines 1":           "--num_machines=1",
		"torchrun --nnodes=2 --rdzv_endpoint=10.0.0.1": "",
		"torchrun --nnodes=1:4":                        "",
		"torchrun train.py --standalone":               "",
	} {
		c.Below = append(strings.Fields(options), "train.py")
		_, err := prepare(c)
		if want == "" {
			require.NoError(t, err, options)
			continue
		}
		require.ErrorContains(t, err, want+" would start a separate job on each of the 2 workers", options)
		one := c
		one.Workers = c.Workers[:1]
		_, err = prepare(one)
		require.NoError(t, err, options)
	}
}

package framework

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProbesAreKnown checks which command lines only query a worker, and which are the worker's
// work.
func TestProbesAreKnown(t *testing.T) {
	for line, want := range map[string]bool{
		"true":                                    true, // horovodrun, five times
		"hostname":                                true, // deepspeed
		"hostname -I":                             true,
		"which python3 >/dev/null 2>&1":           true,
		"test -d /data":                           true,
		"[ -e /data ] && ls /data":                true,
		"cd /x; pkill -f train.py":                true, // deepspeed --autotuning, after an experiment
		"sudo pkill -f train.py":                  false,
		"/usr/bin/pkill train":                    true,
		"rm -rf /tmp/x || true":                   true,
		"uptime":                                  true, // ray up
		"python3 --version":                       true,
		"env A=1 which x":                         true,
		"python3 -m horovod.runner.task_fn a b c": true,
		"nvidia-smi | grep A100":                  true,
		"command -v ninja":                        true,
		"sh -c 'which x'":                         true,
		"":                                        false,
		"cd /x":                                   false,
		"exit 3":                                  false,
		"test -d /x || exit 3":                    false,
		"python3 train.py":                        false,
		"cd /x; python3 train.py; rm -f /tmp/lock":                                                           false,
		"export A=1; export B=2; cd /x; /usr/bin/python3 -u -m deepspeed.launcher.launch --node_rank=0 x.py": false,
		"cd /x > /dev/null 2>&1 ; env HOROVOD_RANK=1 python3 train.py":                                       false,
		"touch /x":              false,
		"mkdir -p /data":        false,
		"./a.out":               false,
		"bash run.sh":           false,
		"ray start --address=x": false,
	} {
		require.Equal(t, want, IsProbe(line), line)
	}
}

// TestStartersAreKnown checks which commands start processes on other machines themselves.
func TestStartersAreKnown(t *testing.T) {
	for _, tc := range []struct {
		argv []string
		want Starter // an empty Name means no starter
	}{
		{[]string{"/usr/bin/python3", "/opt/bin/deepspeed", "--hostfile", "x", "train.py"}, Starter{Name: "deepspeed"}},
		{[]string{"python3", "-m", "deepspeed.launcher.runner", "x.py"}, Starter{Name: "deepspeed"}},
		{[]string{"python3", "/opt/bin/ds", "x.py"}, Starter{Name: "ds"}},
		{[]string{"python3", "/opt/bin/deepspeed", "--autotuning", "run", "x.py"}, Starter{Name: "deepspeed", Trials: true}},
		{[]string{"deepspeed", "--elastic_training", "x.py"}, Starter{Name: "deepspeed", Elastic: true}},
		{[]string{"python3", "/opt/bin/horovodrun", "-np", "4", "python", "x.py"}, Starter{Name: "horovodrun"}},
		{[]string{"horovodrun", "-np", "4", "--min-np", "2", "python", "x.py"}, Starter{Name: "horovodrun", Elastic: true}},
		{[]string{"python3", "-m", "horovod.runner.launch", "-np", "2"}, Starter{Name: "horovod"}},
		{[]string{"ray", "up", "x.yaml"}, Starter{Name: "ray"}},
		{[]string{"torchrun", "x.py"}, Starter{}},
		{[]string{"accelerate", "launch", "x.py"}, Starter{}},
		{[]string{"pdsh", "-w", "a", "true"}, Starter{}},
		{[]string{"bash", "-c", "deepspeed x.py"}, Starter{}},
		{[]string{"python3", "train.py"}, Starter{}},
		{nil, Starter{}},
	} {
		got, ok := StarterIn(tc.argv)
		require.Equal(t, tc.want, got, tc.argv)
		require.Equal(t, tc.want.Name != "", ok, tc.argv)
	}
	require.True(t, IsProgram([]string{"timeout", "60", "/usr/bin/pdsh", "x"}, "pdsh"))
	require.False(t, IsProgram([]string{"bash", "-c", "pdsh"}, "pdsh"))
}

// TestLaunchersOfOneStart checks which commands succeed only if all the ranks that they start
// succeed.
func TestLaunchersOfOneStart(t *testing.T) {
	read := func(path string) string { return map[string]string{"run.sh": "torchrun x.py | tee log"}[path] }
	for _, tc := range []struct {
		argv []string
		env  []string
		want bool
	}{
		{[]string{"torchrun", "x.py"}, nil, true},
		{[]string{"torchrun", "x.py"}, []string{"PET_MAX_RESTARTS=0"}, true},
		{[]string{"python3", "-m", "torch.distributed.run", "x.py"}, nil, true},
		{[]string{"accelerate", "launch", "x.py"}, nil, true},
		{[]string{"bash", "-c", "torchrun x.py | tee log"}, nil, true},
		{[]string{"bash", "run.sh"}, nil, true},
		{[]string{"torchrun", "--max-restarts=3", "x.py"}, nil, false},
		{[]string{"torchrun", "--max_restarts", "3", "x.py"}, nil, false},
		{[]string{"torchrun", "x.py"}, []string{"PET_MAX_RESTARTS=0", "PET_MAX_RESTARTS=3"}, false},
		{[]string{"bash", "-c", "torchrun --max-restarts 3 x.py"}, nil, false},
		{[]string{"python3", "-m", "paddle.distributed.launch", "x.py"}, nil, false}, // restarts 3 times by itself
		{[]string{"python3", "x.py"}, nil, false},
		{[]string{"./a.out"}, nil, false},
		{nil, nil, false},
	} {
		require.Equal(t, tc.want, StartsRanksOnce(tc.argv, read) && !RestartsRanks(tc.env), "%v %v", tc.argv, tc.env)
	}
}

package submit

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/exec/names"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// least returns a minimal request.
func least(change func(*Request)) Request {
	r := Request{Name: "train", Image: "repo/train:1", Workers: 2, Delivery: "init", RankTags: true, Command: []string{"python", "train.py"}}
	if change != nil {
		change(&r)
	}
	if r.Framework == "" && r.Kind == "" && r.Launcher == nil && slices.Equal(r.Command, []string{"python", "train.py"}) && !r.hasRoles() {
		r.Framework = "plain"
	}
	return r
}

// requests returns the requests of the golden files.
func requests() map[string]Request {
	arena := "python /root/code/mnist/mnist.py --backend gloo"
	return map[string]Request{
		"least": least(nil),
		"mpi":   least(func(r *Request) { r.Command, r.GPUs = []string{"mpirun", "-np", "16", "./pi"}, 8 }),
		"arena-mpi": least(func(r *Request) {
			r.Kind, r.Command = "mpi", []string{"'mpirun -x LD_LIBRARY_PATH python train.py'"}
			r.GPUs, r.CPU, r.Memory, r.Data = 1, "4", "8Gi", []string{"imagenet:/data", "", "logs:/logs", "imagenet:/again"}
			r.RDMA, r.Gang, r.Queue, r.Priority, r.PullSecrets = true, "volcano", "vision", "high", []string{"registry"}
		}),
		"arena-pytorch-git": least(func(r *Request) {
			r.Kind, r.Command, r.GPUs = "pytorchjob", []string{arena}, 2
			r.Sync, r.SyncSource = "git", "https://code.example.com/team/mnist.git"
			r.Env = []string{"GIT_SYNC_BRANCH=dev", "NCCL_DEBUG=INFO", "A=b=c", "NCCL_DEBUG=WARN"}
		}),
		"arena-tf": least(func(r *Request) {
			r.Kind, r.PS, r.Chief, r.Evaluator, r.GPUs, r.CPU = "tfjob", 2, true, true, 1, "2"
			r.Command = []string{"python tf.py"}
		}),
		"git-image": least(func(r *Request) {
			r.SyncSource, r.SyncBranch, r.SyncImage = "https://code.example.com/team/mnist.git", "v1", "repo/git:1"
			r.WorkingDir, r.SyncSecret = "/home/ml", "robot"
		}),
		"everything-else": least(func(r *Request) {
			r.Framework, r.Launcher, r.Slots, r.Delivery = "jax", new(true), 4, "baked"
			r.ShmSize, r.HostNetwork, r.Gang, r.MaxRestarts = "1Gi", true, "coscheduling", 3
			r.Tolerations = []string{"all", "gpu", "gpu=yes:NoSchedule", "spot:NoExecute", "a=b:NoExecute,Exists"}
			r.Selectors, r.Labels, r.Annotations = []string{"disk=ssd"}, []string{"team=vision"}, []string{"example.com/note=a=b"}
			r.RestartPolicy, r.MaxRestartsPer, r.MaxNoProgress, r.ProgressFile = `[{"signals":["kill"],"exitCodes":[42],"causes":["oom"],"output":"NCCL","container":"main","action":"replace-worker"},{"action":"fail"}]`, "6/1h", 5, "/data/*.pt"
			r.Topology, r.RequireRDMA, r.Transport = []string{"topology.kubernetes.io/zone", "example.com/rack"}, true, "network"
			r.RestartOn, r.Success, r.HangAfter, r.HangAction, r.ExitWithin = "+hang", "all", 90e9, "stop", 300e9
			r.Progress = []progress.Word{{Flag: "expect", Value: `step (\d+)`}, {Flag: "within", Value: "10m"}, {Flag: "first-within", Value: "1h"}, {Flag: "expect-by", Value: "rank"}, {Flag: "progress-action", Value: "stop"}, {Flag: "fail-on", Value: "loss.*nan"}}
			r.Preflight, r.Check, r.GroupCheck, r.CheckTime = "fail", "nvidia-smi -L", "python allreduce.py", 300e9
			r.Devices, r.ImagePullPolicy, r.CleanPods, r.ActiveFor = []string{"amd.com/gpu=2"}, "IfNotPresent", "None", 3600e9
		}),
		"as-run": least(func(r *Request) {
			r.Command, r.Workers = []string{"mpirun", "./pi"}, 4
			r.Run = Run{MinWorkers: 2, MaxWorkers: 8, LauncherSlots: 2, Compat: "kubeflow-v1", Settings: []Setting{{"exit", "MUSTER_EXIT", "strict"}, {"grace", "MUSTER_GRACE", "1m0s"}}}
		}),
		"procs":     least(func(r *Request) { r.Command, r.Run.Procs = []string{"python", "train.py"}, 3 }),
		"deepspeed": least(func(r *Request) { r.Command, r.GPUs = []string{"deepspeed", "train.py"}, 4 }),
		"torchrun":  least(func(r *Request) { r.Command, r.GPUs = []string{"OMP_NUM_THREADS=4 torchrun train.py"}, 4 }),
		"restricted": least(func(r *Request) {
			r.Restricted, r.RunAsUser, r.SyncSource, r.WorkingDir = true, new(int64(1000)), "https://code.example.com/a.git", "/home/ml"
		}),
		"line-for-a-shell": least(func(r *Request) { r.Command = []string{"cd code && exec mpirun ./pi > log"} }),
		"own-tags":         least(func(r *Request) { r.Command = []string{"mpirun", "--tag-output", "./pi"} }),
		"horovod-by-mpirun": least(func(r *Request) {
			r.Kind, r.Command = "horovod", []string{"mpirun", "python", "train.py"}
		}),
	}
}

func TestGolden(t *testing.T) {
	for name, r := range requests() {
		t.Run(name, func(t *testing.T) {
			job, err := r.Job()
			require.NoError(t, err)
			again, err := r.Job()
			require.NoError(t, err)
			require.Equal(t, job, again)
			text, err := yaml.Marshal(job)
			require.NoError(t, err)
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				require.NoError(t, os.WriteFile(path, text, 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text))
		})
	}
}

// TestMistakes checks that the error for each mistake has exit code 64, names the flag, has a hint,
// and does not repeat a password.
func TestMistakes(t *testing.T) {
	for want, change := range map[string]func(*Request){
		"--name is required":                  func(r *Request) { r.Name = "" },
		"--name=Train: a name has at most 40": func(r *Request) { r.Name = "Train" },
		"--image is required":                 func(r *Request) { r.Image = "" },
		"missing command":                     func(r *Request) { r.Command = []string{""} },
		"--workers=0":                         func(r *Request) { r.Workers = 0 },
		"--gpus=-1":                           func(r *Request) { r.GPUs = -1 },
		"--ps=-1":                             func(r *Request) { r.PS = -1 },
		"--hang-after requires a launcher":    func(r *Request) { r.HangAfter = 60e9 },
		"--grace requires a launcher":         func(r *Request) { r.Run.Settings = []Setting{{"grace", "MUSTER_GRACE", "1m"}} },
		"--grace=soon is not a time": func(r *Request) {
			r.Command, r.Run.Settings = []string{"mpirun", "./pi"}, []Setting{{"grace", "MUSTER_GRACE", "soon"}}
		},
		"--exit=well": func(r *Request) {
			r.Command, r.Run.Settings = []string{"mpirun", "./pi"}, []Setting{{"exit", "MUSTER_EXIT", "well"}}
		},
		"--min-workers=3, --workers=2":                           func(r *Request) { r.Command, r.Run.MinWorkers, r.Workers = []string{"mpirun", "./pi"}, 3, 2 },
		"--max-workers=3 requires":                               func(r *Request) { r.Command, r.Run.MaxWorkers = []string{"mpirun", "./pi"}, 3 },
		"--procs-per-worker=-1":                                  func(r *Request) { r.Run.Procs = -1 },
		"--within=10m needs an --expect before it":               func(r *Request) { r.Progress = []progress.Word{{Flag: "within", Value: "10m"}} },
		"--fail-on='(' is not a regular expression":              func(r *Request) { r.Progress = []progress.Word{{Flag: "fail-on", Value: "("}} },
		"--fail-on requires a launcher":                          func(r *Request) { r.Progress = []progress.Word{{Flag: "fail-on", Value: "nan"}} },
		"--hang-after=1ms":                                       func(r *Request) { r.HangAfter = 1e6 },
		"--exit-within requires a launcher":                      func(r *Request) { r.ExitWithin = 60e9 },
		"--preflight requires a launcher":                        func(r *Request) { r.Preflight = "fail" },
		"--preflight=maybe: unknown value":                       func(r *Request) { r.Preflight = "maybe" },
		"--preflight-timeout=1ms: must be at least 1s":           func(r *Request) { r.CheckTime = 1e6 },
		"--topology-keys requires a launcher":                    func(r *Request) { r.Topology = []string{"rack"} },
		"--require-rdma requires a launcher":                     func(r *Request) { r.RequireRDMA = true },
		"--transport=auto requires a launcher":                   func(r *Request) { r.Transport = "auto" },
		"--transport=ssh: unknown value":                         func(r *Request) { r.Transport = "ssh" },
		"--exit-within=-1m0s: must be at least 1s":               func(r *Request) { r.ExitWithin = -60e9 },
		"--hang-action=kill":                                     func(r *Request) { r.HangAfter, r.HangAction = 60e9, "kill" },
		"--hang-action=stop requires --hang-after":               func(r *Request) { r.HangAction = "stop" },
		"--restart-on=oom requires --max-restarts":               func(r *Request) { r.RestartOn = "oom" },
		"--max-no-progress=3 requires --max-restarts":            func(r *Request) { r.MaxNoProgress = 3 },
		"--progress-file requires a launcher":                    func(r *Request) { r.MaxRestarts, r.ProgressFile = 1, "x" },
		"--restart-policy is not a list of rules":                func(r *Request) { r.Launcher, r.MaxRestarts, r.RestartPolicy = new(true), 1, "oom" },
		"--max-restarts-per=6: want NUMBER/TIME":                 func(r *Request) { r.Launcher, r.MaxRestarts, r.MaxRestartsPer = new(true), 1, "6" },
		"--max-no-progress=1001: want 0 to 1000":                 func(r *Request) { r.Launcher, r.MaxRestarts, r.MaxNoProgress = new(true), 1, 1001 },
		"--progress-file=[: syntax error in pattern":             func(r *Request) { r.Launcher, r.MaxRestarts, r.ProgressFile = new(true), 1, "[" },
		"--max-restarts=-1":                                      func(r *Request) { r.MaxRestarts = -1 },
		"--working-dir=root":                                     func(r *Request) { r.WorkingDir = "root" },
		"--delivery=image: unknown value":                        func(r *Request) { r.Delivery = "image" },
		"--gang=vulcano: unknown value":                          func(r *Request) { r.Gang = "vulcano" },
		"--clean-pods=running: unknown value":                    func(r *Request) { r.CleanPods = "running" },
		"--image-pull-policy=Sometimes":                          func(r *Request) { r.ImagePullPolicy = "Sometimes" },
		"--framework=caffe: unknown value":                       func(r *Request) { r.Framework = "caffe" },
		`cannot tell where to run "bash"`:                        func(r *Request) { r.Command = []string{"bash", "train.sh"} },
		`cannot tell where to run "cd"`:                          func(r *Request) { r.Command = []string{"cd code && python train.py"} },
		"--gang=kueue requires --queue":                          func(r *Request) { r.Gang = "kueue" },
		"--queue=q cannot be used with --gang=workload":          func(r *Request) { r.Gang, r.Queue = "workload", "q" },
		"--agent-image cannot be used with --delivery=baked":     func(r *Request) { r.AgentImage, r.Delivery = "i", "baked" },
		"--shm-size=much is not a size":                          func(r *Request) { r.ShmSize = "much" },
		"--active-deadline=-1ns must not be negative":            func(r *Request) { r.ActiveFor = -1 },
		`--cpu="lots" is not a quantity`:                         func(r *Request) { r.CPU = "lots" },
		`--memory="-1Gi" is not a quantity`:                      func(r *Request) { r.Memory = "-1Gi" },
		"--device=gpu is not NAME=VALUE":                         func(r *Request) { r.Devices = []string{"gpu"} },
		"--env=A is not NAME=VALUE":                              func(r *Request) { r.Env = []string{"A"} },
		"--label=team is not NAME=VALUE":                         func(r *Request) { r.Labels = []string{"team"} },
		"--annotation=x is not NAME=VALUE":                       func(r *Request) { r.Annotations = []string{"x"} },
		"--selector=x is not NAME=VALUE":                         func(r *Request) { r.Selectors = []string{"x"} },
		"--data=imagenet is not PVC:PATH":                        func(r *Request) { r.Data = []string{"imagenet"} },
		"--data=a:b is not PVC:PATH":                             func(r *Request) { r.Data = []string{"a:b"} },
		`"A_b" is not a valid PersistentVolumeClaim name`:        func(r *Request) { r.Data = []string{"A_b:/x"} },
		"two claims are mounted at /x/":                          func(r *Request) { r.Data = []string{"a:/x", "b:/x/"} },
		"--toleration=a:Never is not a toleration":               func(r *Request) { r.Tolerations = []string{"a:Never"} },
		"--ps, --chief and --evaluator are not roles of mpi":     func(r *Request) { r.PS, r.Framework = 1, "mpi" },
		"horovodrun in a shell command":                          func(r *Request) { r.Command = []string{"horovodrun python train.py > log"} },
		"--sync-secret requires an http or https --sync-source":  func(r *Request) { r.SyncSource, r.SyncSecret = "git@x:y.git", "robot" },
		"--restricted cannot be used with --rdma":                func(r *Request) { r.Restricted, r.RDMA = true, true },
		"--run-as-user=-1 is not a user ID":                      func(r *Request) { r.RunAsUser = new(int64(-1)) },
		"--run-as-user=0 cannot be used with --restricted":       func(r *Request) { r.Restricted, r.RunAsUser = true, new(int64(0)) },
		"--restricted with --sync-source requires --working-dir": func(r *Request) { r.Restricted, r.SyncSource = true, "https://x/y.git" },
		"a horovod job requires a horovodrun or mpirun command":  func(r *Request) { r.Kind = "horovod" },
		"--launcher=false: mpi starts its ranks from a launcher": func(r *Request) { r.Launcher, r.Framework = new(false), "mpi" },
		"--sync-mode=rsync works in Arena":                       func(r *Request) { r.Sync, r.SyncSource = "rsync", "10.0.0.1:x" },
		"--sync-mode=svn: unknown value":                         func(r *Request) { r.Sync, r.SyncSource = "svn", "http://x/y" },
		"--sync-mode=git requires --sync-source":                 func(r *Request) { r.Sync = "git" },
		"--sync-source is required":                              func(r *Request) { r.SyncBranch = "dev" },
		"--sync-source is not the URL":                           func(r *Request) { r.SyncSource = "code.example.com/secret-team" },
		"--sync-source contains a user name or password":         func(r *Request) { r.SyncSource = "https://me:secret@example.com/a.git" },
		"--sync-source contains a user name or password, which":  func(r *Request) { r.SyncSource = "https://secret@example.com/a.git" },
		"--env GIT_SYNC_PASSWORD=... would store":                func(r *Request) { r.SyncSource, r.Env = "https://x/y.git", []string{"GIT_SYNC_PASSWORD=secret"} },
		"--data: /root/code is the directory for the code":       func(r *Request) { r.SyncSource, r.Data = "https://x/y.git", []string{"a:/root/code/"} },
	} {
		_, err := least(change).Job()
		require.ErrorContains(t, err, want)
		require.Equal(t, names.ExitUsage, failure.CodeOf(err), want)
		var b bytes.Buffer
		failure.Complain(&b, err)
		require.Contains(t, b.String(), "\nhint: ", want)
		require.NotContains(t, b.String(), "secret@", want)
		require.NotContains(t, b.String(), "=secret", want)
	}
}

func TestRepository(t *testing.T) {
	for source, want := range map[string]string{
		"https://example.com/team/train.git": "train", "https://example.com/train/": "train", "git@example.com:train.git": "train",
		"git@example.com:team/train": "train", "git://10.0.0.1/repo.git": "repo", "file:///srv/repo.git": "repo",
	} {
		require.Equal(t, want, repository(source), source)
		require.NoError(t, validSource(source), source)
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"python train.py":                 {"python", "train.py"},
		" exec torchrun  train.py --lr=1": {"torchrun", "train.py", "--lr=1"},
		"torchrun train.py > log":         {"sh", "-c", "torchrun train.py > log"},
		"A=1 B=2 python x":                {"env", "A=1", "B=2", "python", "x"},
		"python x > log":                  {"sh", "-c", "python x > log"},
		"'python x'":                      {"python", "x"},
		"'a b' 'c'":                       {"sh", "-c", "'a b' 'c'"},
		"train":                           {"train"},
	} {
		argv, _ := Request{Command: []string{line}}.words()
		require.Equal(t, want, argv, line)
	}
	argv, look := Request{Command: []string{"A=1 mpirun x"}, Shell: "bash"}.words()
	require.Equal(t, []string{"bash", "-c", "A=1 mpirun x"}, argv)
	require.Equal(t, []string{"mpirun", "x"}, look)
}

// TestLinesWithoutAProgram checks that a line for a shell may have parts without a word, and that a blank
// one is a mistake like an empty command.
func TestLinesWithoutAProgram(t *testing.T) {
	for line, want := range map[string]string{
		"' '":              "missing command",
		"''":               "missing command",
		"'\r '":            "missing command",
		"; ":               `cannot tell where to run ";"`,
		"( (./a); ./b )":   `cannot tell where to run "./a"`,
		"( (./a; mpirun))": "",
	} {
		_, err := least(func(r *Request) { r.Command = []string{line} }).Job()
		if want == "" {
			require.NoError(t, err, line)
			continue
		}
		require.ErrorContains(t, err, want, line)
		require.Equal(t, names.ExitUsage, failure.CodeOf(err), line)
	}
}

// TestNothingIsShared checks that changing one pod's template changes no other template.
func TestNothingIsShared(t *testing.T) {
	job, err := requests()["arena-tf"].Job()
	require.NoError(t, err)
	before, err := json.Marshal(job.Spec.Roles[1])
	require.NoError(t, err)
	spec := &job.Spec.Roles[0].Template.Spec
	spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: "X"})
	spec.Containers[0].Command[0] = "changed"
	spec.Containers[0].Resources.Limits["x"] = spec.Containers[0].Resources.Limits["cpu"]
	after, err := json.Marshal(job.Spec.Roles[1])
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

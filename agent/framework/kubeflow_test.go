package framework

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kfGolden holds a file of testdata/kubeflow; test/lab/kubeflow/golden describes its content.
type kfGolden struct {
	Kind, Job, Namespace, Refused string
	Spec                          struct {
		NprocPerNode        string
		GPULauncher         bool
		EnableDynamicWorker bool
		ClusterDomain       string
		ElasticPolicy       *struct {
			MinReplicas, MaxReplicas, NProcPerNode, RdzvPort int
			RdzvBackend, RdzvHost, RdzvID                    string
			RdzvConf                                         [][2]string
			Standalone                                       bool
			MaxRestarts                                      *int
		}
		Roles []struct {
			Name  string
			Count int
		}
	}
	Pods []struct {
		Name, Role string
		Index      int
		Containers []struct {
			Name string
			Env  []string
		}
	}
}

func kfFiles(t *testing.T) map[string]kfGolden {
	paths, err := filepath.Glob("testdata/kubeflow/*.json")
	require.NoError(t, err)
	all, kinds := map[string]kfGolden{}, map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var g kfGolden
		require.NoError(t, json.Unmarshal(text, &g), path)
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = g
		kinds[g.Kind]++
	}
	for kind := range kfKinds() {
		require.GreaterOrEqual(t, kinds[kind], 4, "golden files of %s", kind)
	}
	return all
}

// framework returns the Kubeflow framework for the job of the file, as with --compat.
func (g kfGolden) framework() Kubeflow {
	k := Kubeflow{Kind: g.Kind, NprocPerNode: g.Spec.NprocPerNode, Sparse: g.Spec.EnableDynamicWorker, ClusterDomain: g.Spec.ClusterDomain}
	if e := g.Spec.ElasticPolicy; e != nil {
		k.Elastic = &KubeflowElastic{
			Min: e.MinReplicas, Max: e.MaxReplicas, Backend: e.RdzvBackend, Host: e.RdzvHost, Port: e.RdzvPort,
			ID: e.RdzvID, Conf: e.RdzvConf, Standalone: e.Standalone, NprocPerNode: e.NProcPerNode, MaxRestarts: e.MaxRestarts,
		}
	}
	return k
}

// cluster returns a cluster with a worker for each replica, except the launcher of an MPIJob.
func (g kfGolden) cluster() Cluster {
	c := Cluster{
		Job: g.Job, Namespace: g.Namespace, Port: 29500, Agent: "/muster/agent", Hostfile: "/etc/mpi/hostfile",
		Command: []string{"python", "train.py"},
	}
	if g.Spec.GPULauncher {
		c.Launcher.Slots = 8
	}
	for _, role := range g.Spec.Roles {
		for i := range role.Count {
			if role.Name != "Launcher" {
				n, lower := len(c.Workers), strings.ToLower(role.Name)
				c.Workers = append(c.Workers, Node{
					Name: fmt.Sprintf("%s-%s-%d", g.Job, lower, i), Host: fmt.Sprintf("%s-%s-%d", g.Job, lower, i),
					IP: fmt.Sprintf("198.18.0.%d", n+1), Slots: 1, Index: n, Role: lower, RoleIndex: i,
				})
			}
		}
	}
	return c
}

func kfPairs(vars []Var) []string {
	list := []string{}
	for _, v := range vars {
		list = append(list, v.Name+"="+v.Value)
	}
	return list
}

// kubelet expands references to fields of the pod, like the kubelet.
func kubelet(env []string, ip string) []string {
	list := []string{}
	for _, v := range env {
		list = append(list, strings.NewReplacer("$(status.podIP)", ip, "$(POD_IP_DUMMY)", ip).Replace(v))
	}
	return list
}

// TestKubeflowGolden checks that each worker gets the same variables as the operator's code gave
// each pod, in the same order. It tests explicit roles, and roles from names.
func TestKubeflowGolden(t *testing.T) {
	for name, g := range kfFiles(t) {
		t.Run(name, func(t *testing.T) {
			byRole := g.cluster()
			byName := g.cluster()
			for i := range byName.Workers {
				byName.Workers[i].Role, byName.Workers[i].RoleIndex = "", 0
			}
			clusters := []Cluster{byRole, byName}
			for _, procs := range []int{1, 8} { // only a PyTorchJob has a field for it
				if c := byRole; g.Kind != "PyTorchJob" {
					c.Procs = procs
					clusters = append(clusters, c)
				} else if n, err := strconv.Atoi(g.Spec.NprocPerNode); err == nil && n == procs {
					c.Procs = procs
					clusters = append(clusters, c)
				}
			}
			for i, c := range clusters {
				k := g.framework()
				if c.Procs > 0 && g.Kind == "PyTorchJob" {
					k.NprocPerNode = "" // then the number comes from the cluster
				}
				g.holds(t, k, c, fmt.Sprintf("cluster %d", i))
			}
		})
	}
}

func (g kfGolden) holds(t *testing.T, k Kubeflow, c Cluster, which string) {
	launch, err := k.Prepare(c)
	if g.Refused != "" {
		require.Error(t, err, "the operator's error is %s", g.Refused)
		require.Empty(t, launch)
		return
	}
	require.NoError(t, err, which)
	require.NoError(t, Validate(launch, c), which)
	require.Len(t, launch.Warnings, 1, which)
	require.Empty(t, launch.Files)
	pods := g.Pods
	if g.Kind == "MPIJob" {
		require.Equal(t, "launcher", pods[0].Role)
		require.ElementsMatch(t, pods[0].Containers[0].Env, kfPairs(kfTheirs(launch.Env)), which)
		require.Empty(t, launch.Processes)
		for _, pod := range pods[1:] {
			require.Empty(t, pod.Containers[0].Env)
		}
		return
	}
	require.Empty(t, launch.Env)
	require.Len(t, launch.Processes, len(pods), which)
	for i, pod := range pods {
		p := launch.Processes[i]
		require.Equal(t, kubelet(pod.Containers[0].Env, c.Workers[i].IP), kfPairs(p.Env), "%s, %s", which, pod.Name)
		require.Equal(t, []any{i, pod.Role, pod.Index, 0, c.Command}, []any{p.Worker, p.Role, p.Index, p.Local, p.Argv}, "%s, %s", which, pod.Name)
		for _, v := range p.Env {
			if slices.Contains([]string{"RANK", "PROCESS_ID", "DMLC_WORKER_ID"}, v.Name) {
				require.Equal(t, v.Value, strconv.Itoa(p.Rank), "%s, %s", which, pod.Name)
			}
		}
	}
}

// kfTheirs returns the variables of an MPIJob that the operator set. The other variables are for
// MPIs that the operator did not know.
func kfTheirs(env []Var) []Var {
	return slices.DeleteFunc(slices.Clone(env), func(v Var) bool { return !strings.HasPrefix(v.Why, "kubeflow-v1: ") })
}

// TestKubeflowMPI checks that every MPI finds the workers with --compat, even if /etc/mpi is not
// writable.
func TestKubeflowMPI(t *testing.T) {
	for hostfile, want := range map[string]string{"/etc/mpi/hostfile": "/etc/mpi/hostfile", "/run/m/hostfile": "/run/m/hostfile"} {
		c := kfJobOf(t, "worker=2", 2)
		c.Agent, c.Hostfile, c.HydraHostfile = "/muster/agent", hostfile, "/run/m/hydra"
		launch, err := Kubeflow{Kind: "MPIJob"}.Prepare(c)
		require.NoError(t, err)
		own, err := MPI{}.Prepare(c)
		require.NoError(t, err)
		seen := map[string]string{}
		for _, v := range launch.Env {
			require.NotContains(t, seen, v.Name, "each variable is set once")
			seen[v.Name] = v.Value
		}
		require.Equal(t, want, seen["OMPI_MCA_orte_default_hostfile"])
		require.Equal(t, "", seen["NVIDIA_VISIBLE_DEVICES"])
		for _, v := range own.Env {
			require.Contains(t, seen, v.Name)
		}
	}
}

// TestKubeflowSidecars checks that in the operator's own files a second container has the same
// variables, except in a TFJob and an MPIJob. Muster starts one process in each pod and cannot
// change the other containers.
func TestKubeflowSidecars(t *testing.T) {
	seen := 0
	for name, g := range kfFiles(t) {
		if !strings.HasSuffix(name, "-sidecar") {
			continue
		}
		seen++
		for _, pod := range g.Pods {
			require.Len(t, pod.Containers, 2, name)
			if want := pod.Containers[0].Env; g.Kind == "TFJob" || g.Kind == "MPIJob" {
				require.Empty(t, pod.Containers[1].Env, name)
			} else {
				require.Equal(t, want, pod.Containers[1].Env, name)
			}
		}
	}
	require.Equal(t, len(kfKinds()), seen)
}

// kfJobOf returns a job with these roles on the given number of workers.
func kfJobOf(t *testing.T, roles string, workers int) Cluster {
	parsed, err := ParseRoles(roles, workers)
	require.NoError(t, err)
	c := Cluster{Job: "train", Namespace: "team-a", Port: 29500, Command: []string{"python", "train.py"}}
	for i, r := range parsed {
		name := fmt.Sprintf("train-%s-%d", r.Name, r.Index)
		c.Workers = append(c.Workers, Node{
			Name: name, Host: name, IP: fmt.Sprintf("198.18.0.%d", i+1), Slots: 1, Index: i, Role: r.Name, RoleIndex: r.Index,
		})
	}
	return c
}

// TestKubeflowRolesByName checks that a worker without a role gets its role from its name.
func TestKubeflowRolesByName(t *testing.T) {
	c := kfJobOf(t, "worker=6", 6)
	for i, name := range []string{"train-ps-0", "ps-1", "train-tester-0", "train-chief-x", "my-train-ps-7", "train"} {
		c.Workers[i].Name, c.Workers[i].Role = name, ""
	}
	launch, err := Kubeflow{Kind: "TFJob"}.Prepare(c)
	require.NoError(t, err)
	var got []string
	for _, p := range launch.Processes {
		got = append(got, fmt.Sprintf("%s:%d", p.Role, p.Index))
	}
	require.Equal(t, []string{"ps:0", "worker:0", "worker:1", "worker:2", "ps:1", "worker:3"}, got)
}

func TestKubeflowSuccess(t *testing.T) {
	for _, test := range []struct {
		kind, roles string
		workers     int
		least       int
		any         bool
		want        string // a letter for each process: w works, d decides, s serves
	}{
		{"PyTorchJob", "master=1,worker=2", 3, 0, false, "dww"},
		{"PyTorchJob", "worker=3", 3, 0, false, "www"},
		{"PyTorchJob", "worker=3", 3, 1, true, "www"},
		{"PyTorchJob", "master=1,worker=2", 3, 1, false, "dww"},
		{"TFJob", "chief=1,ps=2,worker=2,evaluator=1", 6, 0, false, "dsswww"},
		{"TFJob", "master=1,worker=1", 2, 0, false, "dw"},
		{"TFJob", "ps=1,worker=2", 3, 0, false, "sdw"},
		{"XGBoostJob", "master=1,worker=2", 3, 0, false, "dww"},
		{"PaddleJob", "worker=2", 2, 0, false, "ww"},
		{"PaddleJob", "master=1,worker=2", 3, 0, false, "dww"},
		{"MXJob", "scheduler=1,server=1,worker=2", 4, 0, false, "ssww"},
		{"JAXJob", "worker=2", 2, 0, false, "ww"},
	} {
		c := kfJobOf(t, test.roles, test.workers)
		c.LeastWorkers = test.least
		launch, err := Kubeflow{Kind: test.kind}.Prepare(c)
		require.NoError(t, err)
		got := ""
		for _, p := range launch.Processes {
			got += string("wds"[p.Part])
		}
		require.Equal(t, test.want, got, "%s %s", test.kind, test.roles)
		require.Equal(t, test.any, launch.Any, "%s %s", test.kind, test.roles)
	}
}

// TestKubeflowElasticCluster checks that an elastic run without a policy gets one from the
// cluster's minimum number of workers.
func TestKubeflowElasticCluster(t *testing.T) {
	c := kfJobOf(t, "worker=3", 3)
	c.LeastWorkers, c.Procs = 1, 8
	launch, err := Kubeflow{Kind: "PyTorchJob"}.Prepare(c)
	require.NoError(t, err)
	g := kfFiles(t)["pytorch-elastic-range-n8"]
	require.Equal(t, g.Pods[2].Containers[0].Env, kfPairs(launch.Processes[2].Env))
}

func TestKubeflowWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		kind, roles   string
		workers       int
		change        func(*Cluster)
		want, wantNot string
	}{
		"rank counts pods":             {"PyTorchJob", "master=1,worker=2", 3, func(c *Cluster) { c.Procs = 8 }, "RANK counts pods, from 0 to 2, but WORLD_SIZE=24 counts processes", ""},
		"one process in each pod":      {"PyTorchJob", "master=1,worker=2", 3, func(c *Cluster) { c.Procs = 1 }, "bugs included", ": RANK"},
		"auto":                         {"PyTorchJob", "master=1,worker=2", 3, nil, "RANK and WORLD_SIZE=3 count pods, but torchrun may start more processes by PET_NPROC_PER_NODE=auto", ""},
		"no master":                    {"PyTorchJob", "worker=3", 3, nil, "a script that reads them trains alone", ""},
		"no master, elastic":           {"PyTorchJob", "worker=3", 3, func(c *Cluster) { c.LeastWorkers = 2 }, "only torchrun sets them", "trains alone"},
		"other names":                  {"PyTorchJob", "master=1,worker=1", 2, func(c *Cluster) { c.Workers[1].Name, c.Workers[1].Host = "box-7", "box-7" }, "train-worker-0, which is box-7 here", ""},
		"same names":                   {"JAXJob", "worker=2", 2, nil, "JAX reads none of these variables", "here:"},
		"several processes per worker": {"JAXJob", "worker=2", 2, func(c *Cluster) { c.Procs = 4 }, "one process starts on each worker instead of 4", ""},
		"tf alone":                     {"TFJob", "worker=1", 1, nil, "TF_CONFIG is not set", ""},
		"evaluator":                    {"TFJob", "chief=1,worker=1,evaluator=1", 3, nil, "the evaluator is in the cluster", ""},
		"xgboost":                      {"XGBoostJob", "master=1,worker=1", 2, nil, "WORKER_ADDRS does not contain it", ""},
		"paddle":                       {"PaddleJob", "worker=2", 2, nil, "no rank is set", ""},
		"mxnet, no scheduler":          {"MXJob", "worker=2", 2, nil, "DMLC_PS_ROOT_URI is empty", ""},
		"mpi":                          {"MPIJob", "worker=2", 2, func(c *Cluster) { c.Agent, c.Hostfile = "/muster/agent", "/etc/mpi/hostfile" }, "bugs included", "of this run are elsewhere"},
		"mpi, another hostfile":        {"MPIJob", "worker=2", 2, func(c *Cluster) { c.Agent, c.Hostfile = "/muster/agent", "/run/m/hostfile" }, "its hostfile is /run/m/hostfile", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := kfJobOf(t, test.roles, test.workers)
			if test.change != nil {
				test.change(&c)
			}
			launch, err := Kubeflow{Kind: test.kind}.Prepare(c)
			require.NoError(t, err)
			require.Len(t, launch.Warnings, 1)
			require.Contains(t, launch.Warnings[0], "--compat=kubeflow-v1: ")
			require.Contains(t, launch.Warnings[0], test.want)
			if test.wantNot != "" {
				require.NotContains(t, launch.Warnings[0], test.wantNot)
			}
		})
	}
}

func TestKubeflowErrors(t *testing.T) {
	for name, test := range map[string]struct {
		kind, roles string
		workers     int
		change      func(*Cluster)
		want        string
	}{
		"kind":           {"RayJob", "worker=1", 1, nil, "prepare RayJob of kubeflow-v1: no such kind"},
		"no name":        {"JAXJob", "worker=1", 1, func(c *Cluster) { c.Job = "" }, "the job needs a name"},
		"no workers":     {"JAXJob", "worker=1", 1, func(c *Cluster) { c.Workers = nil }, "no workers"},
		"no command":     {"JAXJob", "worker=1", 1, func(c *Cluster) { c.Command = nil }, "no command"},
		"procs":          {"JAXJob", "worker=1", 1, func(c *Cluster) { c.Procs = -1 }, "-1 processes per worker"},
		"role":           {"JAXJob", "ps=1", 1, nil, `worker "train-ps-0" has the role ps, which the operator does not have: want one of worker`},
		"no master":      {"XGBoostJob", "worker=2", 2, nil, "0 workers have the role master, want 1"},
		"two masters":    {"PyTorchJob", "master=2", 2, nil, "2 workers have the role master, want 1"},
		"chief, master":  {"TFJob", "chief=1,master=1", 2, nil, "the roles chief and master"},
		"paddle address": {"PaddleJob", "worker=2", 2, func(c *Cluster) { c.Workers[0].IP = "" }, `worker "train-worker-0" has no address`},
	} {
		t.Run(name, func(t *testing.T) {
			c := kfJobOf(t, test.roles, test.workers)
			if test.change != nil {
				test.change(&c)
			}
			launch, err := Kubeflow{Kind: test.kind}.Prepare(c)
			require.ErrorContains(t, err, test.want)
			require.Empty(t, launch)
		})
	}
}

func TestCompat(t *testing.T) {
	for f, kind := range map[string]string{
		"torch": "PyTorchJob", "tensorflow": "TFJob", "mpi": "MPIJob", "openmpi": "MPIJob", "xgboost": "XGBoostJob",
		"lightgbm": "XGBoostJob", "paddle": "PaddleJob", "mxnet": "MXJob", "jax": "JAXJob",
	} {
		got, err := Compat("kubeflow-v1", f)
		require.NoError(t, err)
		require.Equal(t, Kubeflow{Kind: kind}, got)
	}
	_, err := Compat("kubeflow-v1", "ray")
	require.EqualError(t, err, "--compat=kubeflow-v1 does not support --framework=ray, only intelmpi, jax, lightgbm, mpi, mpich, mxnet, openmpi, paddle, tensorflow, torch, xgboost")
	_, err = Compat("kubeflow-v2", "torch")
	require.EqualError(t, err, "--compat=kubeflow-v2: unknown value, want kubeflow-v1")
}

package variables

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

const root = "../../.."

func TestEveryVariableOfTheProductIsInATable(t *testing.T) {
	s, err := Collect(root)
	require.NoError(t, err)
	require.Greater(t, len(s.Reads), 60)
	require.Greater(t, len(s.Sets), 120)
	faults, err := Faults(s)
	require.NoError(t, err)
	require.Empty(t, faults)
}

func TestAVariableThatIsNewOrGoneIsAFault(t *testing.T) {
	s, err := Collect(root)
	require.NoError(t, err)
	s.Reads.add("MUSTER_NEW", "agent/launch")
	s.Sets.add("NEW_RANK", framed)
	s.Sets.add("MUSTER_SET", "agent/launch")
	s.Words.add("OTHER_WORD", "cmd/agent")
	s.Open = append(s.Open, "cmd/agent/new.go")
	delete(s.Reads, "NO_COLOR")
	delete(s.Sets, "MUSTER_BROKER")
	delete(s.Words, "IPC_LOCK")
	faults, err := Faults(s)
	require.NoError(t, err)
	require.Equal(t, []string{
		"IPC_LOCK is among the words that are no variables, and not in the source",
		`MUSTER_BROKER is set in [], and the table has ["agent/launch/plan"]`,
		`MUSTER_NEW is read in ["agent/launch"], and the table has []`,
		`MUSTER_SET is set in ["agent/launch"], and the table has []`,
		"NEW_RANK is set in agent/framework, and no section has it",
		`NO_COLOR is read in [], and the table has ["exec/names"]`,
		`OTHER_WORD is in ["cmd/agent"], and neither on the page nor among the words that are no variables`,
		"cmd/agent/new.go reads a variable by a name from elsewhere",
	}, faults)
}

// TestCollect has one line for each form in which the product names a variable.
func TestCollect(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"agent", "cmd", "rendezvous", "hostfile", "exec/names"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("exec/names/env.go", "package names\n\nconst (\n\tEnvJob = \"MUSTER_JOB\"\n\tEnvMark = EnvJob + \"_MARK\"\n)\n")
	write("agent/a_test.go", "package a\n\nvar _ = os.Getenv(\"TEST_ONLY\")\n")
	write("agent/a.go", `package a

import (
	"bytes"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

const mark = "OWN_MARK"

var rankVariables = [...]string{"LISTED_RANK"}

var _ = http.ProxyFromEnvironment

func f() {
	os.Getenv(names.EnvJob)
	os.LookupEnv(settings.Variable("max-restarts"))
	os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	getenv("COLOR")
	for _, name := range []string{"FIRST_POD", "SECOND_POD"} {
		os.Getenv(name)
	}
	lookup(env, "USERS_OWN")
	bytes.CutPrefix(kv, []byte(mark + "="))
	strings.HasPrefix(kv, "MUSTER_")
	value["INDEXED"] = 1
	switch name, value, _ := strings.Cut(kv, "="); name {
	case "SWITCHED":
	}
	switch name {
	case "NOT_THIS":
	}
	_ = []Var{{Name: "IN_LIST", Value: x}, {Name: "IN_" + part}}
	_ = framework.Var{Name: names.EnvMark}
	_ = &corev1.EnvVar{Name: "OF_POD"}
	_ = [][2]string{{"PAIRED", x}}
	both("a", "b", x)
	setDefault(o, "VC_"+name+"_NUM", x)
	env = append(env, mark+"="+id, "FIXED=1")
	fmt.Errorf("WORLD_SIZE=%d is set", n)
}
`)
	write("agent/b.go", "package a\n\nimport \"os\"\n\nfunc g(name string) { os.Getenv(name) }\n")
	s, err := Collect(dir)
	require.NoError(t, err)
	at := func(names ...string) Found {
		f := Found{}
		for _, name := range names {
			f.add(name, "agent")
		}
		return f
	}
	require.Equal(t, at("MUSTER_JOB", "MUSTER_MAX_RESTARTS", "KUBECONFIG", "COLOR", "FIRST_POD", "SECOND_POD", "USERS_OWN", "OWN_MARK",
		"INDEXED", "SWITCHED", "LISTED_RANK", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"), s.Reads)
	require.Equal(t, at("IN_LIST", "MUSTER_JOB_MARK", "OF_POD", "PAIRED", "OMPI_MCA_a", "PRTE_MCA_b", "VC_…_NUM", "OWN_MARK", "FIXED"), s.Sets)
	require.Equal(t, []string{"agent/b.go"}, s.Open)
	require.Contains(t, s.Words, "NOT_THIS")
	require.NotContains(t, s.Words, "TEST_ONLY")
}

// TestSectionsCoverEveryFramework finds a framework without a section, or with variables that no section
// has.
func TestSectionsCoverEveryFramework(t *testing.T) {
	native, compat, shared, err := Frameworks()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, s := range append(append(native, compat...), Section{Rows: shared}) {
		for _, r := range s.Rows {
			known[r.Name] = true
		}
	}
	for _, name := range framework.Exported() {
		require.True(t, known[name], "%s is in framework.Exported, and in no section", name)
	}
	commands := map[string][]string{"horovod": {"horovodrun", "python", "train.py"}, "deepspeed": {"deepspeed", "train.py"}}
	for _, name := range framework.Names() {
		if name == framework.Auto {
			continue
		}
		f, err := framework.Named(name)
		require.NoError(t, err)
		c := example(0)
		if c.Command = commands[name]; c.Command == nil {
			c.Command = python()
		}
		launch, err := f.Prepare(c)
		require.NoError(t, err, name)
		vars := launch.Env
		for _, p := range launch.Processes {
			vars = append(vars, p.Env...)
		}
		require.NotEmpty(t, vars, name)
		for _, v := range vars {
			require.True(t, known[v.Name], "%s of %s is in no section", v.Name, name)
		}
	}
}

func TestSectionsNameTheProcesses(t *testing.T) {
	native, compat, shared, err := Frameworks()
	require.NoError(t, err)
	find := func(title, name string) Row {
		for _, s := range append(native, compat...) {
			for _, r := range s.Rows {
				if s.Title == title && r.Name == name {
					return r
				}
			}
		}
		t.Fatalf("%s has no %s", title, name)
		return Row{}
	}
	require.Equal(t, Row{"RANK", "1", "every process", "rank of this process in the job"}, find("PyTorch", "RANK"))
	require.Equal(t, "every process, with several processes on a worker", find("PyTorch", "OMP_NUM_THREADS").On)
	require.Equal(t, "torchrun on each worker", find("torchrun", "PET_NNODES").On)
	require.Equal(t, "`driver`", find("Ray", "RAY_ADDRESS").On)
	require.Equal(t, "`worker`", find("MXNet and BytePS", "DMLC_WORKER_ID").On)
	require.Equal(t, "the command in the launcher, if it has none", find("Any MPI", "SHELL").On)
	require.Equal(t, "`worker` 0", find("PaddleJob", "POD_IP_DUMMY").On)
	require.Equal(t, "the command in the launcher, as root", find("Open MPI", "OMPI_ALLOW_RUN_AS_ROOT").On)
	require.Equal(t, "/muster/agent rsh", find("Open MPI", "OMPI_MCA_plm_rsh_agent").Example)
	require.Contains(t, find("MPICH", "HYDRA_LAUNCHER").Meaning, "; left out if you set `HYDRA_BOOTSTRAP`")
	require.Equal(t, "PYTHONUNBUFFERED", shared[0].Name)
}

package framework_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/contract"
)

// standIn mimics jax/_src/clusters: a base class that lists its subclasses, and one subclass that
// fails like the detection of Kubernetes in a pod without a token.
const standIn = `
class ClusterEnv:
    _cluster_types = []
    opt_in_only_method = False
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._cluster_types.append(cls)

class K8sCluster(ClusterEnv):
    name = "k8s"
    @classmethod
    def is_env_present(cls):
        raise RuntimeError("no token")
`

const detect = `
from jax._src.clusters import ClusterEnv
e = next(e for e in ClusterEnv._cluster_types if not e.opt_in_only_method and e.is_env_present())
print(e.name, e.get_coordinator_address(timeout_secs=1, override_coordinator_port=None), e.get_process_count(), e.get_process_id(), e.get_local_process_id())
print(e.get_coordinator_address(timeout_secs=1, override_coordinator_port="7"), len(ClusterEnv._cluster_types))
`

// tree writes files into a new directory.
func tree(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// jaxProcess returns the environment of rank 1 of two on one worker, and the directory with its
// files.
func jaxProcess(t *testing.T) (files string, env map[string]string) {
	launch, err := framework.JAX{}.Prepare(contract.Cluster(1, 2, python()))
	require.NoError(t, err)
	text := map[string]string{}
	for _, f := range launch.Files {
		text[f.Name] = string(f.Data)
	}
	return tree(t, text), variables(launch.Processes[1].Env)
}

// run runs a script in Python with the environment of a launch. path follows our directory in
// PYTHONPATH, like in Merge.
func run(t *testing.T, files, path string, env map[string]string, script string) string {
	cmd := exec.Command("python3", "-c", script)
	cmd.Env = []string{"PYTHONDONTWRITEBYTECODE=1", "PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + strings.ReplaceAll(env["PYTHONPATH"], framework.FilesDir, files) + ":" + path}
	for name, value := range env {
		if name != "PYTHONPATH" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestJAXFindsTheJob(t *testing.T) {
	files, env := jaxProcess(t)
	jax := tree(t, map[string]string{"jax/__init__.py": "", "jax/_src/__init__.py": "", "jax/_src/clusters/__init__.py": standIn})
	require.Equal(t, "muster 198.18.0.10:29500 2 1 1\n198.18.0.10:7 2\n", run(t, files, jax, env, detect))

	delete(env, "JAX_LOCAL_PROCESS_ID")
	require.Contains(t, run(t, files, jax, env, detect), "muster 198.18.0.10:29500 2 1 None\n")
}

// TestJAXOfAnotherShapeIsLeftAlone checks that three processes run as they would without us: with
// an unexpected jax, without jax, and without the variables of the job.
func TestJAXOfAnotherShapeIsLeftAlone(t *testing.T) {
	files, env := jaxProcess(t)
	for name, clusters := range map[string]string{
		"no classes": "x = 1", "no list": "class ClusterEnv: pass", "a tuple": "class ClusterEnv:\n  _cluster_types = ()",
		"refuses": "class ClusterEnv:\n  _cluster_types = []\n  def __init_subclass__(cls): raise TypeError('final')",
	} {
		t.Run(name, func(t *testing.T) {
			jax := tree(t, map[string]string{"jax/__init__.py": "", "jax/_src/__init__.py": "", "jax/_src/clusters/__init__.py": clusters})
			require.Equal(t, "fine\n", run(t, files, jax, env, "import jax._src.clusters\nprint('fine')"))
		})
	}
	require.Equal(t, "fine\n", run(t, files, "", env, "print('fine')"))
	require.Contains(t, run(t, files, "", env, "try:\n  import jax._src.clusters\nexcept ModuleNotFoundError as e:\n  print(e)"), "No module named 'jax'")

	hooks := "import sys\nprint([f for f in sys.meta_path if type(f).__name__ == 'Watch'])"
	require.Equal(t, "[]\n", run(t, files, "", map[string]string{"PYTHONPATH": env["PYTHONPATH"]}, hooks))
}

// TestTheImagesSitecustomizeRuns checks that the image's own sitecustomize runs under its own name,
// and that its errors are reported as its own.
func TestTheImagesSitecustomizeRuns(t *testing.T) {
	files, env := jaxProcess(t)
	theirs := tree(t, map[string]string{"sitecustomize.py": "import sys\nprint('theirs', __name__, sys.modules[__name__].__file__ == __file__)"})
	require.Equal(t, "theirs sitecustomize True\nfine\n", run(t, files, theirs, env, "print('fine')"))

	broken := tree(t, map[string]string{"sitecustomize.py": "raise ValueError('broken')",
		"jax/__init__.py": "", "jax/_src/__init__.py": "", "jax/_src/clusters/__init__.py": standIn})
	out := run(t, files, broken, env, detect)
	require.Contains(t, out, "ValueError: broken")
	require.Contains(t, out, "muster 198.18.0.10:29500 2 1 1\n")
}

// TestTwoCopies checks a job within a job, which has the module twice. An empty entry in PYTHONPATH
// is the directory of the program.
func TestTwoCopies(t *testing.T) {
	files, env := jaxProcess(t)
	again, _ := jaxProcess(t)
	jax := tree(t, map[string]string{"jax/__init__.py": "", "jax/_src/__init__.py": "", "jax/_src/clusters/__init__.py": standIn})
	theirs := tree(t, map[string]string{"sitecustomize.py": "print('theirs')"})
	for _, path := range []string{again, files, again + ":" + files + ":" + again} {
		require.Equal(t, "theirs\nmuster 198.18.0.10:29500 2 1 1\n198.18.0.10:7 2\n", run(t, files, path+":"+theirs+":"+jax, env, detect))
	}
}

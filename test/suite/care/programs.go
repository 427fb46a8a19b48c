package care

import (
	"embed"
	"os"
)

//go:embed *.py
var sources embed.FS

// Lay writes the sources of all programs to the directory dir.
func Lay(dir string) error { return os.CopyFS(dir, sources) }

// Source returns the source of the program with that file name.
func Source(name string) ([]byte, error) { return sources.ReadFile(name) }

// Program is a program that writes a checkpoint when it is stopped, and the launcher of its ranks.
type Program struct {
	Name      string
	Framework string   // "": the command runs in the launcher, as mpirun does
	Each      int      // ranks on each worker that write a checkpoint
	Command   []string // a leading @ stands for the directory of the sources
	Missing   string   // a requirement that is not installed; "": none
	Lingers   bool     // it does not end when another rank has ended: JAX and torchrun wait for that rank
}

// Tools has the paths of what the programs need.
type Tools struct {
	Python     string
	Numactl    string
	Torch, JAX string            // Pythons of environments with these packages
	Missing    map[string]string // why torch, jax or numactl is missing
}

// Programs returns the programs whose ranks Muster starts on the workers.
func Programs(at Tools) []Program {
	const plain, torchrun = "plain", "torchrun"
	python, noTorch := at.Python, at.Missing["torch"]
	return []Program{
		{"loaders: fork", plain, 1, []string{python, "@loaders.py", "fork"}, "", false},
		{"loaders: spawn", plain, 1, []string{python, "@loaders.py", "spawn"}, "", false},
		{"loaders: forkserver", plain, 1, []string{python, "@loaders.py", "forkserver"}, "", false},
		{"compile workers, stand-in", plain, 1, []string{python, "@care.py", "pool"}, "", false},
		{"service in its own session", plain, 1, []string{python, "@care.py", "service"}, "", false},
		{"subprocess", plain, 1, []string{python, "@care.py", "subprocess"}, "", false},
		{"bash script", plain, 1, []string{"bash", "-c", "true; " + python + " @care.py subprocess; exit $?"}, "", false},
		// Options that bind memory fail in pods: the runtime's seccomp profile refuses set_mempolicy.
		{"numactl", plain, 1, []string{at.Numactl, "--cpunodebind=0", python, "@loaders.py", "fork"}, at.Missing["numactl"], false},
		{"timeout", plain, 1, []string{"timeout", "1000", python, "@loaders.py", "fork"}, "", false},
		{"mp.spawn, stand-in", plain, 2, []string{python, "@care.py", "spawned"}, "", false},
		{"torchrun, stand-in", torchrun, 2, []string{python, "@torchrun.py", "2", "0.5", python, "@loaders.py", "fork"}, "", false},
		{"PyTorch: DataLoader fork", plain, 1, []string{at.Torch, "@care_torch.py", "fork"}, noTorch, false},
		{"PyTorch: DataLoader spawn", plain, 1, []string{at.Torch, "@care_torch.py", "spawn"}, noTorch, false},
		{"PyTorch: DataLoader forkserver", plain, 1, []string{at.Torch, "@care_torch.py", "forkserver"}, noTorch, false},
		{"PyTorch: compile workers", plain, 1, []string{at.Torch, "@care_torch.py", "compile"}, noTorch, false},
		{"PyTorch: mp.spawn", plain, 2, []string{at.Torch, "@care_torch.py", "spawned"}, noTorch, false},
		{"PyTorch: torchrun", torchrun, 2, []string{at.Torch, "-m", "torch.distributed.run", "--nproc-per-node=2", "@care_torch.py", "fork"}, noTorch, true},
		{"JAX", "jax", 1, []string{at.JAX, "@care_jax.py"}, at.Missing["jax"], true},
	}
}

// MPI returns the program whose ranks mpirun starts.
func MPI(name, mpirun, python string) Program {
	return Program{name, "", 1, []string{mpirun, python, "@loaders.py", "fork"}, "", false}
}

// Horovod returns the program whose ranks horovodrun starts over ssh. PATH must have horovodrun and the Python of
// its environment, and PYTHONPATH the packages of PyTorch.
func Horovod() Program {
	return Program{"Horovod", "", 1, []string{"horovodrun", "--gloo", "python", "@care_horovod.py"}, "", false}
}

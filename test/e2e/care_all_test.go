//go:build e2e && care

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/care"
)

// brought returns the path of an environment that other targets have made below ~/.cache/muster on this machine, or
// "".
func brought(t *testing.T, pattern string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(cache, "muster", pattern))
	require.NoError(t, err)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// careAll returns the cells of every program.
func careAll(t *testing.T) (cells []careCell) {
	torch, jax := brought(t, "frameworks/torch-*[0-9a-f]"), brought(t, "frameworks/jax-*[0-9a-f]")
	at := care.Tools{Python: carePython, Numactl: "/numactl/numactl", Torch: "/venv/torch/bin/python", JAX: "/venv/jax/bin/python",
		Missing: map[string]string{}}
	if _, err := os.Stat("/usr/bin/numactl"); err != nil {
		at.Missing["numactl"] = "numactl is not installed (test/fake/mpi/deps.sh --conform)"
	}
	mounts := map[string]map[string]string{}
	for name, dir := range map[string]string{"torch": torch, "jax": jax} {
		if dir == "" {
			at.Missing[name] = name + " is not installed (make e2e-care installs it)"
		}
		mounts[name] = map[string]string{"/venv/" + name: dir}
	}
	for _, p := range care.Programs(at) {
		require.Empty(t, p.Missing, p.Name)
		c := careCell{program: p, image: "openmpi", workers: 1, seconds: 2}
		switch p.Command[0] {
		case at.Torch:
			c.image, c.mounts = "frameworks", mounts["torch"]
		case at.JAX:
			c.image, c.mounts = "frameworks", mounts["jax"]
		case at.Numactl: // the image has libnuma, so only the program is mounted
			c.mounts = map[string]string{"/numactl": "/usr/bin"}
		}
		for _, member := range []bool{true, false} {
			c.member = member
			for _, c.way = range []careWay{evictWorker, evictAll, agentDelete} {
				if member && c.way == evictAll {
					continue // the job has only one pod
				}
				cells = append(cells, c)
			}
		}
	}
	return append(append(cells, careMPIs(t)...), careHorovod(t)...)
}

// careHorovod returns the cells of horovodrun.
func careHorovod(t *testing.T) []careCell {
	mounts := map[string]string{"/venv/horovod": brought(t, "frameworks/horovod-*[0-9a-f]"), "/venv/torch": brought(t, "frameworks/torch-*[0-9a-f]")}
	require.NotEmpty(t, mounts["/venv/horovod"], "install it: test/lab/run frameworks -install -rows horovod")
	require.NotEmpty(t, mounts["/venv/torch"], "install it: test/lab/run frameworks -install -rows torch")
	env := map[string]string{"PATH": "/venv/horovod/bin:/usr/local/bin:/usr/bin:/bin", "OMP_NUM_THREADS": "1",
		"PYTHONPATH": "/venv/torch/lib/python3.11/site-packages"}
	cells := careOfMPI(careCell{program: care.Horovod(), framework: "horovod", image: "frameworks", mounts: mounts, env: env})
	for i := range cells {
		cells[i].apart = 10 // a horovodrun that has lost a rank gives the others less time
	}
	return cells
}

// careMPIs returns the cells of every mpirun.
func careMPIs(t *testing.T) (cells []careCell) {
	cells = append(cells, careOfMPI(careCell{program: care.MPI("Open MPI 4", "mpirun", carePython), image: "openmpi"})...)
	subprocess := care.MPI("MPICH 4.0", "mpiexec", carePython) // the Python of its image has no multiprocessing
	subprocess.Command = []string{"mpiexec", carePython, "@care.py", "subprocess"}
	cells = append(cells, careOfMPI(careCell{program: subprocess, image: "mpich"})...)
	for _, m := range []struct{ name, pattern, mpirun string }{
		{"Open MPI 5", "mpi/openmpi-5*", "mpirun"}, {"MPICH 4.2", "mpi/mpich-4.2*", "mpiexec"}, {"Intel MPI 2021", "mpi/impi-rt-*", "mpiexec"},
	} {
		dir := brought(t, m.pattern)
		require.NotEmpty(t, dir, "%s is not installed (test/fake/mpi/deps.sh --conform)", m.name)
		at := "/mpi/" + filepath.Base(dir)
		cells = append(cells, careOfMPI(careCell{program: care.MPI(m.name, at+"/bin/"+m.mpirun, carePython), image: "openmpi",
			mounts: map[string]string{at: dir}})...)
	}
	return cells
}

func careOfMPI(c careCell) (cells []careCell) {
	c.workers, c.seconds, c.apart = 2, 2, 3
	for _, c.way = range []careWay{evictWorker, evictAll, agentDelete} {
		cells = append(cells, c)
	}
	return cells
}

// TestCareStops plays every program with every way to stop its pods.
func TestCareStops(t *testing.T) { careCells(t, careAll(t)) }

// TestCareLongSaves writes checkpoints for 45 s in pods that have 60 s to end. No flag tells Muster about the time.
func TestCareLongSaves(t *testing.T) {
	fork := care.Programs(care.Tools{Python: carePython})[0]
	mpi := care.MPI("Open MPI 4", "mpirun", carePython)
	mpi.Command = []string{"mpirun", "-n", "2", carePython, "@loaders.py", "fork"}
	var cells []careCell
	for _, c := range []careCell{{program: fork, member: true, workers: 1}, {program: fork, workers: 2}, {program: mpi, workers: 2}} {
		c.image, c.seconds, c.period = "openmpi", 45, 60
		for _, c.way = range []careWay{evictWorker, evictAll, agentDelete} {
			if c.member && c.way == evictAll {
				continue // the job has only one pod
			}
			cells = append(cells, c)
		}
	}
	careCells(t, cells)
}

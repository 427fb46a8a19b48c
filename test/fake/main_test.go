//go:build mpi

package fake

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/proc"
	"github.com/musterhq/muster/test/suite/program"
)

// bin is the directory of agent and agent-launcher. programs is the directory of the compiled MPI programs,
// NAME.FAMILY.
var bin, programs string

//go:embed testdata/act.c
var actSource []byte

//go:embed testdata/talk.c
var talkSource []byte

func TestMain(m *testing.M) {
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/fake:", err)
		code = 1
	}
	os.Exit(code)
}

// holdSessions creates the directory that all mpiruns of Open MPI 4 share, so that it exists during the tests.
// Without it, two mpiruns that create it at the same time fail, and so does one whose empty directory another
// mpirun removes (orte_session_dir: "File exists").
func holdSessions() (letGo func(), err error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("ompi.%s.%d", host, os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	kept, err := os.CreateTemp(dir, "held-by-a-test")
	if err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(kept.Name()) }, kept.Close()
}

func prepared(m *testing.M) (code int, err error) {
	if err := needTools(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "fake")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	letGo, err := holdSessions()
	if err != nil {
		return 1, err
	}
	defer letGo()
	if bin = os.Getenv("MUSTER_BIN"); bin == "" {
		bin = filepath.Join(dir, "bin")
		err = build(bin)
	} else {
		bin, err = filepath.Abs(bin)
	}
	if err != nil {
		return 1, err
	}
	for _, name := range []string{"agent", "agent-launcher"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return 1, fmt.Errorf("no %s where $MUSTER_BIN points: %w", name, err)
		}
	}
	programs = filepath.Join(dir, "programs")
	if err := compile(programs); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// needTools returns an error that names all missing tools.
func needTools() error {
	var missing []string
	for _, tool := range []string{"mpirun.openmpi", "mpicc.openmpi", "mpiexec.mpich", "mpicc.mpich", "/usr/bin/python3",
		"make", "rsync", "git", "/usr/bin/pdsh", "/usr/bin/ssh", "scp", "sftp", "/usr/lib/openssh/sftp-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	for _, dir := range []string{mpi4pyMPICH(), "/usr/lib/python3/dist-packages"} {
		if _, err := os.Stat(filepath.Join(dir, "mpi4py")); err != nil {
			missing = append(missing, "mpi4py in "+dir)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("these tests need %s: install them with test/fake/mpi/deps.sh --test", strings.Join(missing, ", "))
	}
	return nil
}

// mpi4pyMPICH returns the directory where deps.sh installs mpi4py for MPICH.
func mpi4pyMPICH() string {
	if dir := os.Getenv("MUSTER_MPI4PY_MPICH"); dir != "" {
		return dir
	}
	return "/usr/local/lib/muster/mpi4py-mpich"
}

func build(dir string) error {
	if err := program.Own(dir, nil, "agent", "agent-launcher"); err != nil {
		return fmt.Errorf("$MUSTER_BIN is not set: %w", err)
	}
	return nil
}

// sources returns the directory of the MPI programs.
func sources() (string, error) {
	if dir := os.Getenv("MUSTER_PROGRAMS"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := figure.Root()
	if err != nil {
		return "", fmt.Errorf("$MUSTER_PROGRAMS is not set: %w", err)
	}
	return filepath.Join(root, "test", "fake", "mpi"), nil
}

func compile(dir string) error {
	from, err := sources()
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	act := filepath.Join(dir, "act.c")
	if err := os.WriteFile(act, actSource, 0o644); err != nil {
		return err
	}
	talk := filepath.Join(dir, "talk.c")
	if err := os.WriteFile(talk, talkSource, 0o644); err != nil {
		return err
	}
	python, err := os.ReadFile(filepath.Join(from, "allreduce.py"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "allreduce.py"), python, 0o644); err != nil {
		return err
	}
	type job struct{ compiler, source, target string }
	var jobs []job
	for _, f := range families {
		for name, source := range map[string]string{"pi": filepath.Join(from, "pi.c"), "hello": filepath.Join(from, "hello.c"), "act": act, "talk": talk} {
			jobs = append(jobs, job{"mpicc." + f.name, source, name + "." + f.name})
		}
	}
	for _, j := range jobs {
		out, err := exec.Command(j.compiler, "-O2", "-o", filepath.Join(dir, j.target), j.source, "-lm").CombinedOutput()
		if err != nil {
			return fmt.Errorf("compile %s: %w\n%s", j.target, err, out)
		}
	}
	return nil
}

// family is one MPI: its mpirun, and the words that differ.
type family struct {
	name     string
	mpirun   string
	rank     string // environment variable of the rank's number
	hostfile string // option
	line     string // of a hostfile, for fmt
}

var families = []family{
	{"openmpi", "mpirun.openmpi", "OMPI_COMM_WORLD_RANK", "--hostfile", "%s slots=%d\n"},
	{"mpich", "mpiexec.mpich", "PMI_RANK", "-f", "%s:%d\n"},
}

// program returns the path of a compiled program of this family.
func (f family) program(name string) string { return filepath.Join(programs, name+"."+f.name) }

// every runs test for each family.
func every(t *testing.T, test func(t *testing.T, f family)) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

// remains returns the living processes with the mark.
func remains(mark string) []proc.Process { return proc.Marked("FAKE_TEST=" + mark) }

// TestRemainsFindsProcesses checks that the scan finds processes. A scan that finds nothing would pass all other tests.
func TestRemainsFindsProcesses(t *testing.T) {
	t.Parallel()
	j := start(t, agentRun(t, []string{"--fake=2"}, "sh", "-c", "echo ready; exec sleep inf"))
	await(t, j.out, "ready\n")
	var all []string
	workers := 0
	require.Eventually(t, func() bool { // the command line changes after the line is printed
		all, workers = nil, 0
		for _, p := range remains(j.mark) {
			all = append(all, p.Line())
			if p.Fake() != "" {
				workers++
			}
		}
		return slices.Contains(all, "sleep inf")
	}, patience, 10*time.Millisecond, "%q", all)
	require.Equal(t, 2, workers, "%q", all)
	require.GreaterOrEqual(t, len(all), 4, "%q", all)
	j.signal(15)
	j.wait().wants(t, 143)
}

// gone waits until chosen is false for all processes with the mark.
func gone(t *testing.T, mark string, chosen func(proc.Process) bool) time.Duration {
	t.Helper()
	began := time.Now()
	require.Empty(t, proc.Gone("FAKE_TEST="+mark, patience, chosen), "still there")
	return time.Since(began)
}

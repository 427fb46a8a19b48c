//go:build mpi && speed

package fake

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/musterhq/muster/test/suite/proc"
	"github.com/stretchr/testify/require"
)

// mostSlower is the maximum ratio of a program's time over fake workers to its time with mpirun alone.
const mostSlower = 1.3

// pairs is how often each program runs both ways, in turns, so that other load affects both. The fastest run of
// each way counts, because other load only makes runs longer.
const pairs = 5

// onTwo restricts a command to two processors, so that four ranks are more than the processors on any machine.
var onTwo = []string{"taskset", "-c", "0,1"}

// lammps is bench/in.lj of LAMMPS, 32000 atoms, with half of its 100 steps.
const lammps = `units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
run 50
`

// TestFakeRunIsAsFastAsLocal checks that a program over fake workers takes at most 1.3 times as long as with mpirun
// alone on the same processors. If there are more ranks than processors, waiting ranks must yield in both.
// Otherwise they must not.
func TestFakeRunIsAsFastAsLocal(t *testing.T) {
	type cell struct {
		family family
		ranks  int
		argv   []string
		took   *regexp.Regexp
	}
	talk := regexp.MustCompile(`took ([0-9.]+) s`)
	var cells []cell
	for _, f := range families {
		for _, n := range []int{2, 4} {
			rounds := "400"
			if f.name == "mpich" && n == 4 {
				rounds = "40" // its waiting ranks never yield, with or without workers
			}
			cells = append(cells, cell{f, n, []string{f.program("talk"), rounds}, talk})
		}
	}
	if lmp, err := exec.LookPath("lmp"); err == nil {
		input := filepath.Join(t.TempDir(), "in.lj")
		require.NoError(t, os.WriteFile(input, []byte(lammps), 0o644))
		for _, n := range []int{2, 4} {
			cells = append(cells, cell{families[0], n, []string{lmp, "-in", input, "-log", "none"}, regexp.MustCompile(`Loop time of ([0-9.]+) `)})
		}
	}
	for _, c := range cells {
		name := fmt.Sprintf("%s, %s, %d ranks", filepath.Base(c.argv[0]), c.family.name, c.ranks)
		t.Run(name, func(t *testing.T) {
			number := strconv.Itoa(c.ranks)
			local := slices.Concat(onTwo, []string{c.family.mpirun, "-np", number})
			if c.family.name == "openmpi" {
				local = append(local, "--oversubscribe", "--bind-to", "none")
			}
			local = append(local, c.argv...)
			over := slices.Concat(onTwo, []string{filepath.Join(bin, "agent"), "run", "--quiet", "--fake", number, "--", c.family.mpirun, "-np", number}, c.argv)
			var alone, faked []float64
			for range pairs {
				alone, faked = append(alone, seconds(t, c.took, local)), append(faked, seconds(t, c.took, over))
			}
			ratio := slices.Min(faked) / slices.Min(alone)
			t.Logf("mpirun alone %.2f s, over fake workers %.2f s, ratio %.2f", alone, faked, ratio)
			require.LessOrEqual(t, ratio, mostSlower)
		})
	}
}

// seconds runs a command and returns how long the program's own loop took.
func seconds(t *testing.T, took *regexp.Regexp, argv []string) float64 {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(proc.Environment(bin, "FAKE_TEST"), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMP_NUM_THREADS=1", "MUSTER_DIR="+shortDir(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%q\n%s%s", argv, out, stderr.String())
	m := took.FindSubmatch(out)
	require.NotNil(t, m, "%q printed no time\n%s", argv, out)
	n, err := strconv.ParseFloat(string(m[1]), 64)
	require.NoError(t, err)
	return n
}

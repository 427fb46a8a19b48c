//go:build mpi && held

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestBackgroundIsNamed covers a process in the background that holds the output of a command or a rank that has
// ended. The job ends within 10 s, or names the process that it waits for. When that process has ended, the job
// ends too, with its own code.
func TestBackgroundIsNamed(t *testing.T) {
	t.Parallel()
	agent := filepath.Join(bin, "agent")
	standIn := laid(t, "torchrun.py")
	ways := map[string]struct {
		flags []string
		words func(line string) []string
		codes map[int]int // codes other than the command's own
	}{
		"sh":   {[]string{"--framework=plain"}, func(line string) []string { return []string{"sh", "-c", line} }, nil},
		"bash": {[]string{"--framework=plain"}, func(line string) []string { return []string{"bash", "-c", line} }, nil},
		"rsh":  {nil, func(line string) []string { return []string{agent, "rsh", "127.0.0.2", line} }, nil},
		"pdsh": {nil, func(line string) []string {
			return []string{"pdsh", "-S", "-R", "exec", "-w", "127.0.0.2", agent, "rsh", "%h", line}
		}, nil},
		"torchrun": {[]string{"--framework=torchrun"}, func(line string) []string {
			return []string{"/usr/bin/python3", standIn, "2", "1", "sh", "-c", line}
		}, map[int]int{3: 1}},
	}
	for name, way := range ways {
		for _, code := range []int{0, 3} {
			want := code
			if other, ok := way.codes[code]; ok {
				want = other
			}
			for what := range backgrounds {
				t.Run(fmt.Sprintf("%s/%s/%d", name, what, code), func(t *testing.T) {
					t.Parallel()
					isNamed(t, start(t, agentRun(t, append([]string{"--fake=1"}, way.flags...), way.words(leaving(what, code))...)), want)
				})
			}
		}
	}
}

// TestBackgroundIsNamedUnderEachMPI is TestBackgroundIsNamed for the ranks of each MPI.
func TestBackgroundIsNamedUnderEachMPI(t *testing.T) {
	for mpi, path := range mpiruns(t) {
		for what := range backgrounds {
			for _, code := range []int{0, 3} {
				t.Run(fmt.Sprintf("%s/%s/%d", mpi, what, code), func(t *testing.T) {
					t.Parallel()
					c := agentRun(t, []string{"--fake=2"}, path, "-n", "2", "sh", "-c", leaving(what, code))
					c.env = []string{"PATH=" + filepath.Dir(path) + ":" + os.Getenv("PATH")}
					isNamed(t, start(t, c), code)
				})
			}
		}
	}
}

//go:build !windows

package main

import (
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/submit"
)

// TestSubmitAndRunStartACommandInTheSamePlace checks that agent submit and agent run start a
// command in the same place: in a launcher, or on the workers. If the place is not clear from the
// command, submit returns an error that asks the user. agent run then uses the launcher, which is
// rarely what users want with several workers.
func TestSubmitAndRunStartACommandInTheSamePlace(t *testing.T) {
	for _, argv := range [][]string{
		{"mpirun", "./pi"}, {"mpiexec.hydra", "./pi"}, {"env", "A=1", "mpirun", "./pi"}, {"torchrun", "train.py"},
		{"python", "-m", "torch.distributed.run", "train.py"}, {"python", "train.py"}, {"./program"}, {"bash", "-c", "python train.py"},
	} {
		for _, name := range []string{"", "pytorch", "plain", "mpi"} {
			r := submit.Request{Name: "train", Image: "i", Workers: 2, Delivery: "init", Framework: name, Command: argv}
			job, err := r.Job()
			if err != nil {
				require.ErrorContains(t, err, "cannot tell where to run", "%q --framework=%s", argv, name)
				require.Empty(t, name+framework.Detect(argv), "%q", argv)
				r.Launcher = new(true) // the place that agent run uses, as the hint says
				job, err = r.Job()
			}
			require.NoError(t, err)
			words := append([]string{"run", "--fake=2", "--dry-run", "--framework=" + name, "--"}, argv...)
			out, err := osexec.Command(filepath.Join(bin, "agent"), words...).CombinedOutput()
			require.NoError(t, err, "%q: %s", words, out)
			here := strings.Contains(string(out), "\n# 127.0.0.2 slots=1\n") // the hostfile of a command in the launcher
			require.Equal(t, here, job.Spec.Launcher != nil, "%q --framework=%s: %s", argv, name, out)
		}
	}
}

package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// TestInquiriesAreZero checks that the exit code 0 of `mpirun --version` counts as success,
// although it starts nothing. A program with its own --version is different: mpirun must start it.
func TestInquiriesAreZero(t *testing.T) {
	for line, code := range map[string]int{
		"mpirun --version":               0,
		"mpirun -V":                      0,
		"mpirun --help":                  0,
		"mpirun --help bind-to":          0,
		"mpirun -np 2 --version":         0,
		"mpiexec.hydra -info":            0,
		"mpiexec.mpich -h":               0,
		"mpirun":                         76,
		"mpirun python --version":        76,
		"mpirun -np 2 ./train --help":    76,
		"mpirun -H w0 ./train --version": 76,
	} {
		argv := strings.Fields(line)
		got := verdict.Judge(verdict.Evidence{Command: verdict.Command{Name: argv[0], Rule: verdict.ExitStrict, Inquiry: IsInquiry(argv)}, Workers: 2})
		require.Equal(t, code, got.Code, line)
	}
}

// TestRemoteCommandsWorkOnWorkers checks that a launcher command such as deepspeed fails if it
// started nothing on a worker.
func TestRemoteCommandsWorkOnWorkers(t *testing.T) {
	for _, tc := range []struct {
		framework string
		argv      []string
		want      int
	}{
		{"", []string{"deepspeed", "train.py"}, 76},
		{"deepspeed", []string{"deepspeed", "train.py"}, 76},
		{"", []string{"timeout", "60", "horovodrun", "python", "train.py"}, 76},
		{"", []string{"pdsh", "-a", "true"}, 76},
		{"mpi", []string{"deepspeed", "train.py"}, 0}, // the user wants it to run in the launcher
		{"", []string{"deepspeed", "--autotuning", "run", "train.py"}, 0},
		{"", []string{"deepspeed", "--help"}, 0},
		{"", []string{"horovodrun", "-v"}, 0},
		{"", []string{"horovodrun", "--check-build"}, 0},
		{"", []string{"ray", "status"}, 0},
		{"", []string{"bash", "-c", "true"}, 0},
	} {
		cfg := Config{Command: tc.argv, Launching: Launching{Framework: tc.framework}}
		got := verdict.Judge(verdict.Evidence{Command: verdict.Command{Name: tc.argv[0], Rule: verdict.ExitScript, Remote: cfg.IsRemote(), Inquiry: IsInquiry(tc.argv)}, Workers: 2})
		require.Equal(t, tc.want, got.Code, tc.argv)
	}
}

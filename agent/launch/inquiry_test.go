package launch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// TestInquiriesAreZero: mpirun --version starts nothing, and its 0 is believed; a
// program's own --version is started.
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
		got := verdict.Judge(verdict.Evidence{Command: verdict.Command{Name: argv[0], Rule: verdict.ExitStrict, Inquiry: isInquiry(argv)}, Workers: 2})
		require.Equal(t, code, got.Code, line)
	}
}

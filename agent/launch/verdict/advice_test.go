package verdict

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTooManyRanks(t *testing.T) {
	const hint = "2 slots for 4 ranks: --slots=2 before --, or --oversubscribe behind mpirun"
	for line, want := range map[string]string{
		"mpirun -np 4 ./pi":                                  hint,
		"/usr/bin/mpirun -n 4 ./pi":                          hint,
		"mpirun --mca btl tcp,self -np 4 ./pi":               hint,
		"mpirun -x PATH --tag-output -np 4 ./pi":             hint,
		"mpirun -np 2 ./pi":                                  "",
		"mpirun ./pi -n 4":                                   "",
		"mpirun -np 2 ./pi -n 4":                             "",
		"mpirun --oversubscribe -np 4 ./pi":                  "",
		"mpirun -np 4 --map-by slot:OVERSUBSCRIBE ./pi":      "",
		"mpirun -np 4 --mca rmaps_base_oversubscribe 1 ./pi": "",
		"mpirun -np four ./pi":                               "",
		"mpirun -np":                                         "",
		"mpirun":                                             "",
	} {
		require.Equal(t, want, TooManyRanks(strings.Fields(line), 2, 2), line)
	}
	require.Contains(t, TooManyRanks([]string{"mpirun", "-np", "5", "x"}, 2, 2), "--slots=3")
}

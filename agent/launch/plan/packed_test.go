package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestPacked checks that a long assignment that several processes have is packed from the second
// process on. The user's own assignments keep their order.
func TestPacked(t *testing.T) {
	long, mine := "ADDRESSES="+strings.Repeat("x", longAssignment), "MINE="+strings.Repeat("y", longAssignment)
	twice := Packed{}
	for i, rank := range []string{"RANK=0", "RANK=1", "RANK=2"} {
		env := []string{mine, "MINE=", long, rank}
		rest, apart, err := twice.Apart(env, 2)
		require.NoError(t, err)
		require.ElementsMatch(t, env, wire.Spec{Env: rest, Packed: apart}.Unpacked().Env)
		require.Equal(t, []string{mine, "MINE="}, rest[:2])
		if i > 0 {
			require.Equal(t, []*wire.Packed{twice[long]}, apart)
		}
	}
	require.Len(t, twice, 1)
}

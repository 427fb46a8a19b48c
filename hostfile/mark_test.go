package hostfile

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMark(t *testing.T) {
	list := OpenMPI([]Host{{"10.0.0.1", 2}, {"w-1", 16}})
	marked := Mark(list)
	require.True(t, Marked(marked))
	hosts, err := Parse(bytes.NewReader(marked))
	require.NoError(t, err)
	require.Len(t, hosts, 2)
	for name, foreign := range map[string][]byte{
		"none": nil, "plain": list, "edited": bytes.Replace(marked, []byte("slots=2"), []byte("slots=3"), 1),
		"longer": append(bytes.Clone(marked), "w-2 slots=1\n"...), "first line alone": marked[:bytes.IndexByte(marked, '\n')+1],
	} {
		require.False(t, Marked(foreign), name)
	}
}

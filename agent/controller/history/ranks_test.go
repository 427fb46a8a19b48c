package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRanks checks that a list of ranks is short, and is read as it was written. A list that a user has written into the
// status cannot make it read more ranks than there are.
func TestRanks(t *testing.T) {
	for list, want := range map[string][]bool{
		"":      {false, false, false, false},
		"0":     {true, false, false, false},
		"0-1,3": {true, true, false, true},
		"0-3":   {true, true, true, true},
		"1,3":   {false, true, false, true},
	} {
		require.Equal(t, list, List(want))
		require.Equal(t, want, Ranks(list, 4), list)
	}
	for list, want := range map[string][]bool{
		"2-99999999999":              {false, false, true, true},
		"3-1,x,-,1-y,-3,9":           {false, false, false, false},
		"1-999999999999999999999999": {false, false, false, false},
	} {
		require.Equal(t, want, Ranks(list, 4), list)
	}
}

package draw

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPartsPlayEachTestOnce(t *testing.T) {
	var names []string
	for i := range 121 {
		names = append(names, fmt.Sprintf("Test%d", i))
	}
	for _, parts := range []int{1, 4, 121} {
		var played []string
		for seed := range parts {
			drawn, err := Part(names, uint64(40*parts+seed), parts)
			require.NoError(t, err)
			require.InDelta(t, len(names)/parts, len(drawn), 1)
			played = append(played, drawn...)
		}
		require.ElementsMatch(t, names, played)
	}
	one, err := Part(names, 7, 4)
	require.NoError(t, err)
	slices.Reverse(names)
	again, err := Part(names, 7, 4)
	require.NoError(t, err)
	require.Equal(t, one, again, "the order of names must not matter")
	other, err := Part(names, 11, 4)
	require.NoError(t, err)
	require.NotEqual(t, one, other, "the same part of the next shuffle must differ")
}

func TestPartsAreNeverEmpty(t *testing.T) {
	for _, parts := range []int{-1, 0, 3} {
		_, err := Part([]string{"TestA", "TestB"}, 1, parts)
		require.Error(t, err)
	}
}

func TestRegexp(t *testing.T) {
	re := regexp.MustCompile(Regexp([]string{"TestA", "TestAB"}))
	require.True(t, re.MatchString("TestAB"))
	require.False(t, re.MatchString("TestABC"))
	require.False(t, re.MatchString("TestB"))
}

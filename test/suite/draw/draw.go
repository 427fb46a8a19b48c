// Package draw chooses which tests of a long suite a short run plays. All parts of a suite together play each test
// once, so runs with consecutive seeds miss no test.
package draw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Part returns the names that part (seed modulo parts) plays, in alphabetical order. The same names, seed and parts
// give the same tests on every machine.
func Part(names []string, seed uint64, parts int) ([]string, error) {
	if parts < 1 || len(names) < parts {
		return nil, fmt.Errorf("%d tests cannot be played in %d parts", len(names), parts)
	}
	all := slices.Sorted(slices.Values(names))
	turn := seed / uint64(parts) // a new shuffle begins when all parts have been played
	rand.New(rand.NewPCG(turn, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var drawn []string
	for i := int(seed % uint64(parts)); i < len(all); i += parts {
		drawn = append(drawn, all[i])
	}
	slices.Sort(drawn)
	return drawn, nil
}

// Regexp returns the argument of go test -run for exactly these tests.
func Regexp(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

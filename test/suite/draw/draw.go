// Package draw chooses the tests of a long suite that a short run plays. All of a suite's
// parts together play each test once, so that runs with one seed after the other miss none.
package draw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Part returns those of names that part seed modulo parts plays, in alphabetical order. The
// same names, seed and parts give the same tests on every machine.
func Part(names []string, seed uint64, parts int) ([]string, error) {
	if parts < 1 || len(names) < parts {
		return nil, fmt.Errorf("%d tests cannot be played in %d parts", len(names), parts)
	}
	all := slices.Sorted(slices.Values(names))
	turn := seed / uint64(parts) // the next shuffle begins when all parts were played
	rand.New(rand.NewPCG(turn, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var drawn []string
	for i := int(seed % uint64(parts)); i < len(all); i += parts {
		drawn = append(drawn, all[i])
	}
	slices.Sort(drawn)
	return drawn, nil
}

// Regexp is what go test -run takes for exactly these tests.
func Regexp(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

//go:build mpi && culprit

package fake

import "testing"

// culpritWays returns all ways to start ranks: with the tag culprit the whole matrix is played.
func culpritWays(t *testing.T) []culpritWay {
	all := groupWays(t)
	for name, path := range mpiruns(t) {
		all = append(all, mpiWay(name, path))
	}
	return all
}

// isCulpritPlayed reports whether a cell is played. With the tag culprit, each cell is.
func isCulpritPlayed(culpritCell) bool { return true }

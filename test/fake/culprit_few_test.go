//go:build mpi && !culprit

package fake

import "testing"

// culpritWays returns the ways to start ranks that need no packages of PyPI.
func culpritWays(t *testing.T) []culpritWay {
	return append(groupWays(t), mpiWay("openmpi4", "mpirun.openmpi"), mpiWay("mpich40", "mpiexec.mpich"))
}

// isCulpritPlayed reports whether a cell is played. Without the tag culprit these are a few cells that need neither
// root nor much time.
func isCulpritPlayed(c culpritCell) bool {
	switch c.way.name {
	case "openmpi4", "plain":
		return c.moment.name == "1 s" && c.end.name == "code" && c.place.name == "last of 4" && c.attempts == 2
	case "mpich40", "join":
		return c.moment.name == "1 s" && c.end.name == "signal" && c.place.name == "rank 1" && c.attempts == 2
	}
	return c.moment.name == "at once" && c.end.name == "code" && c.place.name == "rank 0" && c.attempts == 1
}

//go:build mpi && !polls

package fake

// isPollPlayed reports whether a way of ranks that poll is played: each takes the processors for
// half a minute, so without the tag polls two are.
func isPollPlayed(way, family string) bool {
	return way == "apart" && family == "openmpi" || way == "tight" && family == "mpich"
}

//go:build mpi && !polls

package fake

// isPollPlayed reports whether a way to poll is played. Each uses the processors for half a minute, so without the
// tag polls only two are.
func isPollPlayed(way, family string) bool {
	return way == "apart" && family == "openmpi" || way == "tight" && family == "mpich"
}

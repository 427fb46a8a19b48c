package launch

// gatherMillis is how long little output of one of so many processes waits for more:
// all of them together send 2,500 pieces a second at most, however many lines these
// have, up to a thousand of them; beyond, none waits longer than 0.4 s, since people
// read these lines. Fewer than 50 wait for nothing.
func gatherMillis(processes int) int {
	if ms := processes * 2 / 5; ms >= 20 {
		return min(ms, 400)
	}
	return 0
}

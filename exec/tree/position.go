package tree

// FanOut is how many workers the launcher and each relay reach directly.
const FanOut = 64

// launcher is the parent of the first positions.
const launcher = -1

// parentOf returns the position of the relay of a position, or launcher.
func parentOf(position, fanOut int) int { return position/fanOut - 1 }

// relays reports whether a position has others behind it, among n.
func relays(position, fanOut, n int) bool { return (position+1)*fanOut < n }

// siblingOf returns the relay that takes the place of another one on the same level, among n, or
// launcher if there is none. All children of a relay get the same sibling, the next one on the level
// that has children too.
func siblingOf(relay, fanOut, n int) int {
	first, size := 0, fanOut // of the level
	for relay >= first+size {
		first, size = first+size, size*fanOut
	}
	next := relay + 1
	if next >= first+size || !relays(next, fanOut, n) {
		next = first
	}
	if next == relay {
		return launcher
	}
	return next
}

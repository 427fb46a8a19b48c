package proc

import "runtime/debug"

// Limits of the uncollected garbage, in percent of the live heap.
const (
	mostGarbage  = 400
	leastGarbage = 25
)

// LimitGarbage sets how often a launcher with that many workers, or rank 0 with that many members,
// collects garbage. With few workers the live heap is only a few megabytes, and the default would
// collect many times a second while output flows. With thousands of workers it is 100 MB and more, and
// memory matters more.
func LimitGarbage(workers int) { debug.SetGCPercent(percentFor(workers)) }

// percentFor allows about 40 MB of garbage in addition to 4 MB of the program itself and 30 KB for
// each worker, but never less than a quarter.
func percentFor(workers int) int {
	return min(mostGarbage, max(leastGarbage, 40_000*100/(4_000+30*workers)))
}

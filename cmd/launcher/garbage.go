package main

import "runtime/debug"

// Limits of the garbage that may lie about, in percent of the live heap.
const (
	mostGarbage  = 400
	leastGarbage = 100
)

// limitGarbage sets how soon the launcher of so many workers collects garbage. With a
// few of them the live heap is a few megabytes, and the default would collect many
// times a second while output flows. With a thousand it is some 60 MB: what counts
// then is memory.
func limitGarbage(workers int) { debug.SetGCPercent(percentFor(workers)) }

// percentFor allows about 40 MB of garbage beside 4 MB of the program's own and 70 KB
// for each worker, and never less than the default.
func percentFor(workers int) int {
	return min(mostGarbage, max(leastGarbage, 40_000*100/(4_000+70*workers)))
}

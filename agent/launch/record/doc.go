// Package record writes the events of a run to a bounded file in the private directory of this
// machine or container.
//
//	record.go  the Log: a queue, and a goroutine that writes it to the file
//	files.go   where the file is, the newest one here, and the removal of old ones
//	pods.go    events from snapshots of pods
//	first.go   notices the first output of each rank
//	follow.go  passes events on to a second reader, and counts waiting workers for it
//
// Guarantees: nothing in the run waits for the disk. If the disk is too slow or full, events are
// dropped, and an event says how many. A launcher that is killed loses the events of the last 10 ms.
// The files of a run take at most twice the size of a segment. A nil Log records nothing.
package record

// Package exclude decides which nodes a job's new pods avoid, because pods failed there twice in the
// same way.
//
// It is pure:
//
//	cause.go     how a pod ended -> the fault of its node, or none
//	exclude.go   the job's replaced pods -> nodes to exclude
//	affinity.go  excluded nodes -> a pod's node affinity
//
// It promises:
//
//   - A failure that may be the program's excludes no node: exit codes, memory,
//     eviction, preemption and drain have no cause.
//   - Two failures count as two only if the second pod was created after the first
//     failure, or a minute lies between them. The pods that a node loses together are
//     one failure.
//   - A job excludes at most one node for every four of its pods, and at most 8,
//     unless the user sets another limit.
//   - A node leaves the list only when the user removes it. It returns after one more
//     failure.
package exclude

// Package pods makes what a benchmark measures on the cluster of test/lab/cluster: a job
// of plain pods in a namespace of its own, which Close takes away.
package pods

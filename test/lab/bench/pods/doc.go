// Package pods creates jobs for the benchmarks on the cluster of test/lab/cluster: a job
// of plain pods in a namespace of its own, which Close deletes.
package pods

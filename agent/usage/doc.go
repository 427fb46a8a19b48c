// Package usage is what workers of a run use now, and how fast their ranks are: the rows of `agent
// top JOB`. The launcher fills in what it knows, and `agent top` merges it with what the cluster
// measures.
//
//	usage.go   the Worker, its JSON, and the order of workers
//	table.go   the cells of the table
//
// What is unknown is nil, and never 0. The package is pure.
package usage

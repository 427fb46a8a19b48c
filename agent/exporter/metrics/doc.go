// Package metrics turns the events of a run into metrics, and serves them for Prometheus.
//
//	table.go    every metric, with its labels and a bound for its series; docs/reference/metrics.md is
//	            generated from it
//	metrics.go  Metrics: takes events, and collects the series of a scrape
//	goodput.go  the time of workers by class
//	serve.go    the HTTP server
//
// Guarantees: memory and the number of series are bounded by the number of workers and of progress
// rules, however long the run is. No label has the name of a job, a pod or a worker: Prometheus adds
// those of the scraped pod. Counters never shrink.
package metrics

// Package check judges what was found out about workers, the network between them, and a cluster,
// before or beside a run. Preflight (agent/launch/preflight) and `agent doctor` use it.
//
//	finding.go   a finding: what was checked, the verdict, and a way out
//	table.go     every check with a sentence about it; docs/reference/doctor.md is generated from it
//	worker.go    what each worker is judged by
//	checks_*.go  the checks of one worker, by subject
//	across.go    versions that have to agree on all workers
//	pairs.go     connections, round trips and throughput between workers
//	cluster.go   the cluster: findings of `agent doctor` alone
//
// It is pure: others read the facts (exec/survey, exec/pairs). What could not be read is unknown,
// and never ok.
package check

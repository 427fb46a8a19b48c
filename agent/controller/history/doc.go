// Package history keeps the short record of a job in its status: what the controller sees of its pods, and
// what a launcher that has ended reports about its attempts. `agent timeline JOB` draws from it.
//
//	pod.go       times of one pod
//	record.go    Next: from a View of the job to the new record
//	fold.go      the limits of the record, and which attempts are left out
//	replaced.go  the limit of the list of replaced pods
//	ranks.go     lists of ranks
//
// Guarantees: the record has at most mostEvents events and mostBytes bytes. The last attempt is never left
// out. Next is pure, and returns the same record for the same View.
package history

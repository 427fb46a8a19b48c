// Package queue reads and writes the objects of Kueue for LaunchJobs. Package kueue decides what to write. This
// package knows the API server, and nothing of pods.
//
//	line.go       Ask: a job's place in the queues of Kueue
//	workloads.go  the Workloads of a job, from the API server
//	priority.go   the job's priority among those of its queue
//	flavors.go    the ResourceFlavors that an admission names
//	step.go       writes: a decision's step, the end of a job, and a job that leaves its queue
//	late.go       the watch of Workloads
//
// It promises:
//
//   - It reads Workloads from the API server, not from a cache, so that no pod is created because of an admission
//     that is over.
//   - A Workload of another owner is neither used nor changed.
//   - It needs no Kueue at its start. Without Kueue, a job in a queue gets gang.Missing.
//   - A write of an outdated Workload is ErrStale. It changes nothing, and the next reconcile looks again.
package queue

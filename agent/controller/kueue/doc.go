// Package kueue makes LaunchJobs an external framework of Kueue: it builds the Workload of a job, reads what Kueue
// answers, and decides what follows for the job's pods. It imports nothing of Kueue, whose kinds are unstructured
// here, so that a controller runs with each version that serves v1beta1 or v1beta2.
//
// It is pure:
//
//	request.go   a job's roles -> its Workload
//	topology.go  annotations of a template -> the topology that its pods need
//	workload.go  a Workload -> what Kueue has said about it
//	decide.go    Workloads and what the job wants -> one step, and whether there may be pods
//	slices.go    the same for the slices of an elastic job
//	says.go      a Workload -> why the job waits
//	place.go     an admission -> what each pod gets
//	status.go    the changes that a framework makes to the status of a Workload
//
// It promises:
//
//   - There are no pods before Kueue has admitted the job, and none are created after an eviction.
//   - The quota of an evicted job is given back when its last pod is gone, not before.
//   - spec.active belongs to administrators. Nothing here sets it.
//   - The spec of a Workload with quota changes in one way only: fewer pods of an elastic job.
//   - The spec of a prebuilt Workload never changes: MultiKueue compares it with its own.
package kueue

// Package gang puts the pods of a LaunchJob into a gang of one of the schedulers that start all pods
// together, or none.
//
// It is pure:
//
//	gang.go    the backends, their kinds, and their labels and annotations
//	choose.go  gang.backend: auto -> the backend of this cluster
//	group.go   a job -> the scheduler's object, and what each pod needs
//	says.go    conditions of the object -> why the gang waits
//
// It promises:
//
//   - The choice for auto, and by the label of a queue, is made once, before the job has pods. It is in
//     status.gang, and stays until the job is suspended.
//   - A job that begins in a queue never runs without Kueue. Package kueue decides when it has pods.
package gang

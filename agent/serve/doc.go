// Package serve runs the objects of Kubeflow's kinds in place. It creates a LaunchJob for each
// labeled object, and writes the state of that job into the object's status, in the words of the
// kind's own operator.
//
//	kinds.go       the kinds, and the words of their operators
//	add.go         one controller for each kind that the cluster has
//	consent.go     whether to serve an object, by labels and managedBy
//	foreign.go     whether another operator has touched it
//	object.go      what is read from an object
//	reconcile.go   one reconcile: consent, foreign, child, status
//	child.go       the LaunchJob: created, and changed with the object
//	conditions.go  how the operators set a condition
//	mirror.go      LaunchJob -> status, for training-operator's kinds
//	failure.go     training-operator's sentences about an end, followed by ours
//	mpi.go         the same for mpi-operator
//	dry.go         prints what it would do, and does nothing
//
// It promises:
//
//   - It never touches an object without the label, or one whose managedBy names
//     another controller.
//   - It leaves an object with another operator's status or children to that
//     operator. One condition says so, before the others, because columns show the
//     last one.
//   - It never writes the spec of an object. The LaunchJob has the object's name, and
//     is deleted with it.
//   - Each reconcile writes the status at most once, and only after a change. It does so
//     also if a change of the object cannot be carried to the LaunchJob.
//   - A served object can be suspended, even if its spec is otherwise wrong. It is shown as
//     suspended as long as its LaunchJob is.
//   - A LaunchJob is not deleted for its age before the status has its end. So a finished
//     object does not run again.
//   - If it is killed between two writes, it continues where it was. If it is turned
//     off, or the label is removed, LaunchJobs keep running. It finds them again when
//     it is turned on.
//
// An operator that serves all namespaces does not read our label. So that two operators do not take
// the same object at once, Muster waits a few seconds before it takes one whose managedBy does not
// name Muster. Another operator has marked it by then.
package serve

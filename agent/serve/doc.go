// Package serve runs the objects of Kubeflow's kinds in place: it makes a LaunchJob of
// each one that is labelled for it, and writes into the object's status what becomes of
// that, in the words of the kind's own operator.
//
//	kinds.go       the kinds: what their operators call things
//	add.go         one controller for each kind that the cluster has
//	consent.go     whether an object is to be served, by labels and managedBy
//	foreign.go     whether somebody else has touched it
//	object.go      what is read from an object
//	reconcile.go   one look: consent, foreign, child, status
//	child.go       the LaunchJob: made, and changed as the object changes
//	conditions.go  how their operators set a condition
//	mirror.go      LaunchJob -> status, of training-operator's kinds
//	failure.go     training-operator's sentences about an end, and ours behind them
//	mpi.go         the same for mpi-operator's
//	dry.go         says what it would do, and does nothing
//
// It promises:
//
//   - An object without the label is never touched, nor one whose managedBy names
//     another controller.
//   - An object that has another operator's status or children is left to that one. A
//     condition of it says so, once, before its others: columns show the last.
//   - The spec of an object is never written. Its LaunchJob has its name, and goes with it.
//   - One write of the status for each look, and only where something changed.
//   - Killed between any two writes it goes on where it stood. Turned off, or when the
//     label is taken away, it leaves LaunchJobs running; turned on again it finds them.
//
// An operator that serves all namespaces does not read our label. So that two do not
// take the same object at once, one whose managedBy does not name Muster is looked
// at for a few seconds first: whoever else is there has marked it by then.
package serve

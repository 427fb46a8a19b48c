// Package measure holds what the programs that measure jobs on the cluster of test/lab/cluster
// share: a client, the API server's audit log, a list of cleanup steps,
// the controller as a process of this machine, the progress of pods and jobs as a watch saw it,
// a launcher's lines with containerd's timestamps, and metrics of the API server.
//
// A program registers a cleanup step with Later for each change in the cluster. Undo runs these steps, also
// after an error or an interrupt. The package does not define what is measured.
package measure

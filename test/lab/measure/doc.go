// Package measure is shared by the programs that measure jobs on the cluster of test/lab/cluster. It has
//   - a client, and a list of cleanup steps;
//   - the API server's audit log and metrics;
//   - the controller as a process of this machine;
//   - the progress of pods and jobs, as a watch saw it;
//   - a launcher's lines, with containerd's timestamps.
//
// A program registers a cleanup step with Later for each change in the cluster. Undo runs these steps, also
// after an error or an interrupt. The package does not define what is measured.
package measure

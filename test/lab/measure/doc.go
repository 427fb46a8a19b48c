// Package measure is what programs have in common that measure jobs on the cluster of
// test/lab/cluster: a client, the API server's audit log, a list of what has to be taken
// back; the controller as a process of this machine; what a watch has seen of pods and
// jobs, with the moments; a launcher's lines with containerd's stamps; figures, recorded
// and printed.
//
// What a program changes in the cluster it notes with Later, and Undo takes it back, also
// after an error or an interrupt. It decides nothing about what is measured.
package measure

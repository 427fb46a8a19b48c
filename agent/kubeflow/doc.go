// Package kubeflow converts the jobs of other projects to LaunchJobs: MPIJobs of every version, the
// other kinds of training-operator v1, TrainJobs, and Volcano's Jobs. It is pure: an object in, a
// LaunchJob and findings out.
//
// It promises:
//
//   - Nothing is dropped silently. A field is carried over, or a Finding names it.
//     reader.go records every field that is read, and names the others at the end.
//   - Pod templates are carried over unchanged, except for changes that are named.
//   - If a job could not start, no LaunchJob is made: the Finding is Fatal and says
//     what to do.
//   - The behavior of the kind's operator counts, not what the name of a field
//     suggests. See replicas.go, restart.go, runpolicy.go and gang.go, which all
//     kinds share.
//
// Each kind is one file. docs/moving/convert.md has the tables.
package kubeflow

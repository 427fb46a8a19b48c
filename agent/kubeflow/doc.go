// Package kubeflow turns the objects that people have into LaunchJobs: MPIJobs of
// every version, the other kinds of training-operator v1, TrainJobs, Volcano's
// Jobs. It is pure: an object in, a LaunchJob and findings out.
//
// It promises:
//
//   - Nothing is dropped in silence. A field is carried, or it is named in a
//     Finding. reader.go is the means: what is read of an object is written down,
//     and what was not read is named at the end.
//   - The pods' templates are carried as they are; what is changed in one is named.
//   - A job that could not start is not made: the Finding is Fatal, and has a way
//     out.
//   - What the kind's operator made of a field counts, not what its name suggests:
//     see replicas.go, restart.go, runpolicy.go and gang.go, which all kinds share.
//
// Each kind is one file. docs/convert.md has the tables.
package kubeflow

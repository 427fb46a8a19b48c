// Package config has everything that a launcher can be told, as one value.
//
// Defaults gives the defaults, cmd/launcher overwrites them by flags and MUSTER_*
// variables, and Validate judges the whole. Methods of Config say what follows from
// several settings at once, such as the rule by which the exit code is decided, or
// how many workers there are at most.
//
//	config.go    the settings, in groups, and their defaults
//	validate.go  what is judged of all of them; launch.go, elastic.go, restart.go,
//	             hang.go, progress.go, pods.go and metrics.go of one kind
//	choose.go    the framework, by --framework or by the command
//	command.go   what the command says: whether mpirun starts daemons, whether it is
//	             only asked for its version
//	grace.go     the grace, which the pod of the launcher may decide
//	fault.go     --fake-fault
//
// It promises: a Config does not change once it is valid; what becomes known later is
// in another Config ([Config.WithNamespace], [Config.WithPodGrace]). Errors are
// *failure.Failure with the code of usage errors, in the words of the flags.
package config

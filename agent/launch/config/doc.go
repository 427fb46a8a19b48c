// Package config holds every setting of a launcher in one value, Config.
//
// Defaults returns the default settings, cmd/launcher overwrites them from flags and MUSTER_*
// variables, and Validate checks the result. Methods of Config derive what follows from several
// settings, such as the rule for the exit code or the maximum number of workers.
//
//	config.go    the settings, in groups, and their defaults
//	validate.go  checks of the whole Config; launch.go, elastic.go, restart.go, hang.go,
//	             progress.go, pods.go and metrics.go check one group each
//	choose.go    chooses the framework, from --framework or from the command
//	command.go   what the command line reveals: whether mpirun starts daemons, whether it
//	             only prints its version
//	grace.go     the grace, which the launcher's pod may limit
//	fault.go     --fake-fault
//
// Guarantees: a valid Config does not change. Facts that become known later go into a new Config
// ([Config.WithNamespace], [Config.WithPodGrace]). Errors are *failure.Failure with the exit code
// for usage errors, and name the flags.
package config

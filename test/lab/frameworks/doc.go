// Command frameworks launches real frameworks with Muster, and checks the reports of
// all ranks: one row for each framework and way to launch it.
//
//	test/lab/run frameworks -where fake                    under agent run --fake
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run frameworks -where cluster -ci             as pods, what CI runs
//	test/lab/run frameworks -rows torch,jax/dies -v
//	test/lab/run frameworks -list
//	test/lab/run frameworks -install                       only install what the rows need
//	test/lab/run frameworks -venv kfp2                     install one environment, for other tests
//
// # Packages
//
// Each framework has a virtual environment of Debian's Python with the packages of
// locks/NAME.txt from PyPI, at the versions in that file. It is installed once, in
// ~/.cache/muster/frameworks or $MUSTER_FRAMEWORKS, under a name that changes with
// its content. An existing environment is always complete, and can be mounted anywhere. The wheel of
// torch is linked against CUDA, so stand-in libraries that return "no device" are built
// (standins.go). DeepSpeed and Horovod have no wheel and are compiled against torch, once
// (venv.go; Horovod takes ten minutes). All of this needs an x86-64 Debian 12 with the packages of
// deps.sh, and 6 GB of disk space.
//
// # Rows
//
// A row (rows.go) runs a script of scripts/ with `agent run`. After a real collective of its framework,
// each rank prints what it knows about its world as one line of JSON
// (scripts/seen.py). The row defines the checks (world.go): every rank reports
// once, all with the same size, sum and hosts, and each worker has the same number of ranks. A
// script that silently trains alone ends with 0 and a world of 1: it fails
// here. Training must reduce the loss, and all ranks must have the same model. A rank
// that is killed must end the run, with the rank's exit code, within the row's
// limit. After each row no process may be left.
//
// Some rows have an action while they run (fake.go): SIGTERM after the ranks have reported,
// or repeated resets of the launcher's connections. Then times are checked: ranks
// that ignore SIGTERM run until the end of the grace and no longer, and a transfer is complete
// although links were cut during it.
//
// # Places
//
// With fake workers a row runs on this machine. On the cluster of KUBECONFIG it runs
// in pods on every node, from images/frameworks. The environments are mounted from
// the nodes, which are this machine (test/lab/cluster). Each row has a namespace of its own.
//
// If a place cannot run a row, the row has the reason, and its result is "not here". Nothing
// else is skipped: a row that cannot be installed or started has failed. The table is printed
// to stdout, and written to frameworks.json in $MUSTER_OUT. If a row fails, the
// command fails.
package main

// Command frameworks launches real frameworks with Muster, and shows what every
// rank saw: one row for each framework and way of launch.
//
//	test/lab/run frameworks -where fake                    under agent run --fake
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run frameworks -where cluster -ci             as pods, what CI runs
//	test/lab/run frameworks -rows torch,jax/dies -v
//	test/lab/run frameworks -list
//	test/lab/run frameworks -install                       what they need, and nothing more
//	test/lab/run frameworks -venv kfp2                     one environment, for other tests
//
// # Packages
//
// Each framework is an environment of Debian's Python with the packages of
// locks/NAME.txt from PyPI, at the versions that stand there. It is made once, in
// ~/.cache/muster/frameworks or $MUSTER_FRAMEWORKS, under a name that changes with
// its content; what lies there is whole, and can be mounted anywhere. The wheel of
// torch is linked against CUDA, so libraries that say "no device" are made for it
// (standins.go). DeepSpeed and Horovod have no wheel and are compiled against it, once
// (venv.go; Horovod takes ten minutes). It takes an x86-64 Debian 12 with what
// deps.sh installs, and 6 GB for all of it.
//
// # Rows
//
// A row (rows.go) runs a script of scripts/ with `agent run`. Each rank says its
// world as one line of JSON after a real collective of its framework
// (scripts/seen.py), and the row tells what has to be seen (world.go): every rank
// once, each with the same size, sum and hosts, and so many on each worker. A
// script that trains alone without a word ends with 0 and a world of 1: it fails
// here. Training has to bring the loss down and give all ranks one model. A rank
// that is killed has to end the run, with its own code, in the time that the row
// says. After each row nothing may be left running.
//
// A row may be struck while it runs (fake.go): SIGTERM when the ranks have spoken,
// or the launcher's connections reset again and again. Then the moments count: ranks
// that are deaf last as long as the grace and no longer, and a transfer is whole
// though links were cut between its begin and its end.
//
// # Places
//
// On fake workers a row runs on this machine. On the cluster of KUBECONFIG it runs
// in pods on every node, from images/frameworks; the environments are mounted from
// the nodes, which are this machine (test/lab/cluster). The namespace is the row's own.
//
// A row that one place cannot run says why, and is listed as "not here"; nothing
// else is left out: what cannot be installed or started has failed. The table goes
// to stdout, and to frameworks.json in $MUSTER_OUT; a row that failed fails the
// command.
package main

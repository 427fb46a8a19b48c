// Package hosts proves that what Muster exports leads to the workers. For every
// built-in framework a run of three workers is prepared by the real launcher
// ([Cases]); a stand-in for the user's program tells what each process was given;
// each host in it is resolved and dialled from every worker, and has to be the
// worker that is meant.
//
// Three small programs do the work where the workers are ([Programs]): seen.py
// stands for scripts and launchers (torchrun, horovodrun, ray) and tells its
// environment, its words and the files that these name; listen.py answers on every
// port of a run with the name of its host, on the launcher too; dial.py connects.
// The tests in test/fake and test/e2e start them and judge with this package.
//
// A variable with a host that no case lists fails, and so does a listed one that
// has none: see [Case.Find].
package hosts

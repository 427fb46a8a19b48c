// Package hosts proves that the hosts that Muster exports are the workers. For every built-in framework, the real
// launcher prepares a run of three workers ([Cases]). A stand-in for the user's program prints what each process
// was given. Each host in its output is resolved and dialed from every worker, and must be the expected worker.
//
// Three small programs run where the workers are ([Programs]). The program seen.py replaces scripts and launchers
// (torchrun, horovodrun, ray), and prints its environment, its arguments and the files that these name. The program
// listen.py answers on every port of a run with the name of its host, also in the launcher. The program dial.py
// connects. The tests in test/fake and test/e2e start them and check their output with this package.
//
// A variable with a host that no case lists is an error, and so is a listed variable without a host: see
// [Case.Find].
package hosts

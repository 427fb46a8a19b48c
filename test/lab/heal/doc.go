// Command heal shows on a real cluster that jobs go on by themselves: real
// frameworks, whose ranks, pods, nodes and cables are taken away while they train.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run heal              all rows
//	test/lab/run heal -ci          the subset that CI runs
//	test/lab/run heal -rows torch,pod/deleted -times 1 -v
//	test/lab/run heal -list
//
// # Rows
//
// A row (row.go) is a job: pods of images/frameworks on both nodes, a script of
// testdata, what happens to it meanwhile, and what has to be seen. The scripts
// say what they do in lines of JSON, by this machine's clock, which is that of the
// nodes too (testdata/heal.py): where an attempt begins, from which step it goes
// on, which processes of an earlier one still live. Pods that are taken away are
// made anew by a loop that knows nothing of Muster (world.go). A row is run so
// often as it says; each run has a namespace of its own.
//
// # What it needs
//
// The cluster of test/lab/cluster, since nodes are powered off and cables pulled; the
// image of images/frameworks on it (make frameworks-image); and the Python environments that
// `test/lab/run frameworks -install` makes.
//
// # Figures
//
// heal.json in $MUSTER_OUT has every run; SUITE.json the figures with bars (main.go): runs
// that did not recover, processes of an old attempt that were still there, ports
// used twice, seconds from a loss to the first line of the next attempt. A run
// that did not go as its row says fails the command.
package main

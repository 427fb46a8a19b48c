// Command heal shows on a real cluster that jobs recover by themselves: it runs real
// frameworks, and removes ranks, pods, nodes and cables while they train.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run heal                   all rows
//	test/lab/run heal -ci -parallel 3   the subset that CI runs, three rows at once
//	test/lab/run heal -rows torch,pod/deleted -times 1 -v
//	test/lab/run heal -list
//
// # Rows
//
// A row (row.go) is a job: pods of images/frameworks on both nodes, a script of
// testdata, the event that interrupts it, and the checks. The scripts
// print their progress as lines of JSON, with times of this machine's clock, which the
// nodes share (testdata/heal.py). A line says where an attempt starts, the step from which it
// continues, and how many processes of an earlier attempt are still running. A loop that knows nothing of Muster
// (world.go, strike.go) creates removed pods again. Each row has a number of runs, and
// each run has a namespace of its own.
//
// # Requirements
//
// The rows need the cluster of test/lab/cluster, because they power off nodes and unplug cables; the
// image of images/frameworks on it (make frameworks-image); and the Python environments that
// `test/lab/run frameworks -install` installs.
//
// # Figures
//
// heal.json in $MUSTER_OUT has every run, and SUITE.json the figures with bars (main.go):
//   - runs that did not recover;
//   - processes of an old attempt that were still running;
//   - ports that two attempts used;
//   - seconds from a loss to the first line of the next attempt.
//
// If a run fails, the command fails.
package main

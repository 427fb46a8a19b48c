// Package report stores the results of the benchmarks: tables whose cells are
// the raw samples, in one file for each table below $MUSTER_OUT/bench (default: out/bench of
// the module).
//
// A benchmark makes its tables and calls Save. The command test/lab/bench combines
// them into out/bench.json, a picture for each table in docs/explanation/bench, and the
// tables of docs/explanation. Only raw samples are stored before that, so that a
// reader of bench.json can check every figure.
package report

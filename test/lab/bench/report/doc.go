// Package report keeps what the benchmarks have measured: tables whose cells are
// the raw samples, a file for each below $MUSTER_OUT/bench (default: out/bench of
// the module).
//
// A benchmark makes its tables and calls Save. The command test/lab/bench puts all of
// them together: out/bench.json, a picture for each table in docs/explanation/bench, and the
// tables of docs/explanation. Nothing is computed before that but the
// samples themselves, so that whoever reads bench.json can check every figure.
package report

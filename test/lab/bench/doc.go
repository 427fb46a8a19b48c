// Command bench puts together what the benchmarks have measured: make bench.
//
//	test/lab/run bench -page docs/explanation/comparison.md
//
// It reads the tables below out/bench (test/lab/bench/report) and writes
//
//	out/bench.json                     all of them: samples, median, least and most of each cell
//	docs/explanation/bench/NAME.svg    a picture of each (test/lab/bench/picture)
//	docs/explanation/bench/README.md   tables, pictures, notes, and the bars that were held or missed
//	docs/explanation/comparison.md     its table, between the marks
//
// and prints the tables. Without tables it changes nothing and says so; without those
// of the comparison that page stays as it is. It measures nothing itself: each part is
// a command of its own in a folder below.
//
// The properties of that table are in compared.md; the figures below them
// come from the tables alone.
package main

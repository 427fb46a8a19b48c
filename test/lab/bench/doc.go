// Command bench combines the results of the benchmarks: make bench.
//
//	test/lab/run bench -page docs/explanation/comparison.md
//
// It reads the tables below out/bench (test/lab/bench/report) and writes
//
//	out/bench.json                     all of them: samples, median, minimum and maximum of each cell
//	docs/explanation/bench/NAME.svg    a picture of each (test/lab/bench/picture)
//	docs/explanation/bench/README.md   tables, pictures, notes, and the bars that were held or missed
//	docs/explanation/comparison.md     its table, between the markers
//
// and prints the tables. If there are no tables, it changes nothing and reports an error. If no
// table of the comparison was measured, docs/explanation/comparison.md stays as it is. This command
// measures nothing: each part is a command of its own in a folder below.
//
// The properties in the table of the comparison are in compared.md. The figures below them
// come from the measured tables alone.
package main

// Package lab holds the programs and tests that only full suites need: clusters, benchmarks, real
// frameworks and schedulers, and the release tools. It is a module of its own, so that its
// dependencies stay out of Muster's go.mod.
//
// Each folder is a program that runs the rows of a table and prints them, unless its doc.go says otherwise.
// The Makefile has a target for each. To run one by hand, or with other flags:
//
//	test/lab/run heal -list
//
// Unit tests of these programs need no cluster:
//
//	go -C test/lab test ./...
package lab

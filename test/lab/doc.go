// Package lab holds the programs and tests that only full suites need: clusters, benchmarks, real
// frameworks and schedulers, and what a release is made of. It is a module of its own, so that what
// they are built with stays out of Muster's go.mod.
//
// Each folder is a program that plays rows and prints them, unless its doc.go says otherwise.
// The Makefile has a target for each. To run one by hand, or with other flags:
//
//	test/lab/run heal -list
//
// Unit tests of these programs need no cluster:
//
//	go -C test/lab test ./...
package lab

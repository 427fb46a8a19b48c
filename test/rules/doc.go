// Package rules holds tests of the tree itself: who may import whom, how
// long a file and a function may be, and whether pages name commands and files
// that exist. ARCHITECTURE.md says why. It also proves that each rule of the
// prose linter finds bad sentences and passes good ones.
package rules

// Package rules holds tests of the tree itself: who may import whom, and how
// long a file and a function may be. ARCHITECTURE.md says why.
package rules

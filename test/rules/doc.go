// Package rules tests the source tree itself: which packages may import each other, how long files and functions
// may be, and whether pages name commands and files that exist. ARCHITECTURE.md has the reasons. It also tests that
// each rule of the prose linter finds bad sentences and passes good ones.
package rules

// Package hangtest simulates a run for tests of the hang watch. The ranks of its workers do what a
// test says, by the clock of the synctest bubble.
package hangtest

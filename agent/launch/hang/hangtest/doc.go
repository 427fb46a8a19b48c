// Package hangtest has a run for tests of what follows from a hang: workers whose ranks
// do what a test says, by the clock of its synctest bubble.
package hangtest

//go:build race

package main

// raceFlag builds the binaries with the race detector too: their goroutines
// are what these tests are about.
const raceFlag = "-race"

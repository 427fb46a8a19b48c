// Package phrase puts numbers, times, signals, exit codes and shell words into
// the form that the launcher's sentences have.
//
// It promises: each function is pure, and the same value reads the same in every
// message.
package phrase

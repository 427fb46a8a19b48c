// Package phrase formats numbers, durations, signals, exit codes and shell words for the launcher's
// messages.
//
// Guarantees: every function is pure, and a value looks the same in every message.
package phrase

// Package wait holds the ways in which a launcher waits: for a duration, up to a limit, and between
// scans of many workers.
//
// Guarantees: a wait ends with its context, and a limit of 0 means no limit.
package wait

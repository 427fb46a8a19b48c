// Package wait has the ways in which a launcher waits: for a while, up to a limit, and
// between looks at many workers.
//
// It promises: a wait ends with its context, and a limit of 0 is none.
package wait

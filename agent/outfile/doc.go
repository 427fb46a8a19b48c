// Package outfile writes files whose paths a user has named for results: a
// report, a list of metrics.
//
// [Check] tells before a run whether the path may be written, [Write] writes it
// whole or not at all. Neither replaces a file that somebody else wrote: the
// caller says by its content which files are its own, so that the same command
// can run again. An empty file and a device may always be written. A user who
// wants a file replaced removes it.
//
// It knows nothing of what is written, and builds everywhere.
package outfile

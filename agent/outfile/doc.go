// Package outfile writes results to files that the user named: a report, a list of metrics.
//
// [Check] reports before a run whether the path may be written. [Write] writes the file completely
// or not at all. Neither replaces a foreign file: the caller recognizes its own files by their
// content, so that the same command can run again. An empty file and a device may always be
// written. A user who wants to replace another file removes it first.
//
// The package is independent of what is written, and builds on every platform.
package outfile

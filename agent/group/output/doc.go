// Package output carries the output of many processes to one place, or to a
// file each.
//
// It takes the place's writers and gives out one writer for each stream of each
// process. It promises that what several processes write to one place is whole
// lines, each with its process's tag if there are tags, and that not a byte
// within a line is changed. A line longer than [MaxLine] is cut into pieces; each
// piece after the first is marked with [Continued]. The last line of a process
// gets a line feed if it has none. One process alone, without tags, and files are
// passed through byte by byte.
//
// A line that carriage returns change in place, as a progress bar, is shown state
// by state, each as a line, ten times a second at most; states in between stay
// within that line.
//
// A write returns when the bytes are with the place's writer, but for a line that
// has no end yet: a reader that stalls, stalls the processes.
package output

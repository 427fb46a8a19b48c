// Package output carries the output of many processes to one place. Files for each are those of
// package archive.
//
// It takes the writers of the place, and provides one writer for each stream of each process. The
// output of several processes in one place consists of whole lines, each with the tag of its process
// if there are tags. No byte within a line changes. A line longer than [MaxLine] is cut into pieces;
// each piece after the first is marked with [Continued]. The last line of a process gets a line feed
// if it has none. A single process without tags is passed through byte by byte.
//
// A line that is updated with carriage returns, like a progress bar, is shown as one line for each
// state, at most ten times a second. States in between stay within the next line.
//
// A write returns when the writer of the place has the bytes, except for an unfinished line. So a
// reader that stalls also stalls the processes.
package output

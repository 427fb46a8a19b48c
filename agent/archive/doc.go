// Package archive is the directory of --output=dir=PATH: the output of each rank in files, and an
// index of them. If PATH is on a volume, they outlive the pods of a job.
//
//	record.go   the lines of the index
//	writer.go   what a run writes
//	file.go     one file of output, which notes when it was written
//	earlier.go  moves the files of an earlier run out of the way
//	lock.go     lets one launcher at a time do that
//	index.go    reads the index
//	lines.go    reads lines of output, by rank, time and attempt
//
// A directory holds the newest run:
//
//	muster-logs.jsonl               the index: one JSON object a line
//	rank-3.out, rank-3.err          what rank 3 wrote, byte for byte, in all attempts
//	run-20260102T150405Z-ab12cd/    an earlier run, in the same form
//
// The index has the job, and each attempt with its times and its end. It has each process with its
// worker, its node and the offset at which an attempt begins in its files. It also has the times of
// some offsets. So a file stays what the rank wrote, and a reader still knows about when.
//
// Guarantees: no byte of an earlier run is overwritten, even if two runs use one directory at the same
// time. A file that no run has written is never touched. A launcher that is killed leaves an index
// that can be read. The index stays small: at most ten lines with times a second.
package archive

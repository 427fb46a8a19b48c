// Package straggler finds ranks that are slower than the others, from the times of their steps.
//
//	judge.go   which of some step times are far from the median; a pure function
//	meter.go   the latest step times of each rank, and the windows in which they are judged
//	words.go   the sentences about stragglers
//
// A rank is slow in a window if its step time is an outlier above the median of the ranks by the
// median absolute deviation. It must also be 15 % above that median, and five of six of its own
// times half as far above it. If more than a third of the ranks are slow, none is: the job then has
// two kinds of ranks. A rank that is slow in two windows in a row is a straggler. It has recovered
// when it is less than 10 % slower in two windows in a row.
//
// It promises that the memory for a rank does not grow. The caller owns the clock. A Meter may be
// used by several goroutines. The package is pure.
package straggler

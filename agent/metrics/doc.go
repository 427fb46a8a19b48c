// Package metrics collects numbers that programs print, such as "loss=0.31" or
// "images/sec: 215.3", and writes them for Kubeflow Pipelines.
//
// It takes the names to look for (Parse), and the output of ranks: whole lines
// (Collector.Line), streams of one rank (Writer), streams of several ranks
// (Mixed) or saved logs (Files).
//
// A value is a number after the name and one "=" or ":", with or without blanks
// around it, anywhere in a line; quotes around the name or the number are
// allowed, as in JSON or a Python dictionary. The name must not be the tail of
// a longer word: "loss" is not found in "val_loss=1", "train/loss=1" or
// "--loss=1". Where "val loss" is asked for as well, a "val loss: 1" is not one
// of "loss". A number has a sign, a fraction and an exponent, or is one of the
// words inf, infinity, nan; a unit of letters or "%" may follow and is not looked
// at. What is no plain number (1,234 or 10.0.0.1 or 12:30 or tensor(1)) is
// counted as unread and never guessed at. Colours are skipped; other control
// characters end a piece, as the carriage returns of progress bars do.
//
// Each metric keeps how often it was printed, its last value and its least and
// largest finite ones: those of the lowest rank that printed it, as the ranks
// of a job mostly print the same; a process without a rank comes last.
//
// It promises: memory does not grow with the output; a metric that was never
// printed has no value, not 0; the output is only looked at. A Collector may be
// used by several goroutines.
//
// It will not: read pieces of more than 64 KiB (they are counted), understand
// thousands separators, rescale percentages, or print anything by itself.
package metrics

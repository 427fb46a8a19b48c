// Package metrics collects numbers that programs print, such as "loss=0.31" or "images/sec: 215.3",
// and writes them for Kubeflow Pipelines.
//
// It takes the names to look for (Parse) and the output of ranks: whole lines (Collector.Line),
// streams of one rank (Writer), streams of several ranks (Mixed) or saved logs (Files).
//
// A value is a number after the name and one "=" or ":", with or without blanks around it, anywhere
// in a line. The name or the number may be quoted, as in JSON or a Python dictionary. The name must
// not be the end of a longer word: "loss" is not found in "val_loss=1", "train/loss=1" or
// "--loss=1". If "val loss" is requested too, "val loss: 1" does not count for "loss".
//
// A number has a sign, a fraction and an exponent, or is one of the words inf, infinity, nan. A
// unit of letters or "%" may follow and is ignored. Other values (1,234 or 10.0.0.1 or 12:30 or
// tensor(1)) are counted as unread, never guessed. Colors are skipped. Other control characters end
// a piece, like the carriage returns of progress bars.
//
// For each metric the package keeps how often it was printed, its last value, and its smallest and
// largest finite ones. They are those of the lowest rank that printed it, because the ranks of a
// job usually print the same. A process without a rank comes last.
//
// It promises that memory does not grow with the output, that a metric that was never printed has
// no value instead of 0, and that it never changes the output. A Collector may be used by several
// goroutines.
//
// It does not read pieces of more than 64 KiB (it counts them), parse thousands separators, rescale
// percentages, or print anything.
package metrics

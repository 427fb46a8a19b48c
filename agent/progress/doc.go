// Package progress checks the output lines of a job's ranks against rules: lines that must keep
// coming, and lines that must not come.
//
// It takes rules, from flags (Read) or as a JSON list (List), and lines with their ranks
// (Watch.Feed, or Watch.Writer for a stream). Watch.Look returns the verdicts, and Watch.Due the
// time of the next possible one. The caller owns the clock.
//
// An expect rule is satisfied by a line that matches its regular expression. If the expression has
// groups that capture numbers, a number must also have grown. Several numbers are compared from
// left to right, as in "epoch 2 step 1" after "epoch 1 step 900". A captured text that is no finite
// number is ignored, so a NaN has not grown. By job, which is the default, a line of any rank
// counts, and it must exceed what any rank has printed before. By rank, each rank is checked alone.
// A number that shrinks has not grown. Only Reset, for a restart of the job, allows smaller numbers
// again.
//
// A group with the name total captures the last step, and does not have to grow. Far returns how far
// an attempt is, and estimates the rest.
//
// Peak returns the largest numbers of an attempt, so that a caller can compare attempts.
//
// A group with the name seconds or milliseconds captures the time of a step, and does not have to
// grow. Steps passes on the step times of each rank: these, or the times between growing numbers.
//
// A fail-on rule fires on the first line that matches.
//
// A line ends with a line feed or a carriage return, so the states of a progress bar are lines.
// Colors (escape sequences) are removed before matching. The first 64 KiB of a line are matched.
//
// It promises that a line without the literal text of a rule costs no regular expression. Memory
// does not grow with the output. A rule fires once until it is satisfied again, which a rule by rank is
// when no rank breaks it any more. A Watch may be used by several goroutines.
//
// It does not print, stop anything, or start timers.
package progress

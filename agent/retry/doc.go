// Package retry decides whether a run that ended is to be run again: which ends
// are worth another attempt, how many there are, and how long to wait before the
// next. It serves the launcher's restart of a group and that of `agent join`.
//
// It is pure and reads no clock: [Parse] reads the user's classes of ends,
// [Account.Decide] takes how an attempt ended and gives a [Decision], with one
// sentence for people.
//
// It promises:
//
//   - without restarts allowed nothing is run again, whatever happened, unless we
//     ended it ourselves for that;
//   - an end is retried only where its class is listed; codes that are not listed
//     are permanent: a program that is wrong is wrong again;
//   - an attempt that was preempted, drained or evicted uses up no restart, but
//     for those that come again and again without an attempt of [Brief] between
//     them: no sequence of ends is retried for ever;
//   - a pause comes before the next attempt where attempts end soon after their
//     beginning: none after the first such end, then a second, doubled each time
//     up to a minute.
package retry

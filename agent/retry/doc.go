// Package retry decides whether to start another attempt after a run has ended, and how long to wait
// before it. It knows which ends are worth a retry, and how many attempts there may be. The launcher
// uses it to restart a group, and so does `agent join`.
//
// It is pure and reads no clock. [Parse] reads the user's classes of ends. [Account.Decide] takes
// the end of an attempt and the time, and returns a [Decision] with one sentence for people. Rules
// of the user come first: package rules reads them.
//
// It promises:
//
//   - Unless restarts are allowed, nothing is run again, except when we ended the
//     attempt ourselves for that purpose.
//   - An end is retried only if its class is listed. Exit codes that are not listed
//     are permanent: a program with a bug fails again.
//   - A preempted, drained, evicted or ignored attempt uses up no restart. The
//     exception is a long series of these without an attempt of [Brief] between
//     them, so no sequence of brief ends is retried forever.
//   - An attempt whose progress is unknown, or that was preempted, never counts as
//     one without progress.
//   - Attempts that end soon after their start are followed by a pause: none after
//     the first, then one second, doubled each time up to a minute.
package retry

package names

import "time"

// DefaultGrace is the grace of a worker or member if the grace period of its pod is not known.
const DefaultGrace = 25 * time.Second

// Grace returns the time between TERM and KILL for the processes of a pod, given the pod's
// terminationGracePeriodSeconds. The rest of the period, a fifth and at most 5 s, is for stopping
// what is left and for reporting the exit codes.
func Grace(period time.Duration) time.Duration { return period - min(period/5, 5*time.Second) }

// Period returns the pod's grace period that gives this grace.
func Period(grace time.Duration) time.Duration { return grace + min(grace/4, 5*time.Second) }

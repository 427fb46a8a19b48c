package names

import "time"

// DefaultGrace is the grace of a worker or member whose pod's is not known.
const DefaultGrace = 25 * time.Second

// Grace is how long the processes of a pod have between being asked to end and KILL, of
// the period that the kubelet gives the pod (terminationGracePeriodSeconds): the rest, a
// fifth and 5 s at most, is for ending what is left and for telling the ends.
func Grace(period time.Duration) time.Duration { return period - min(period/5, 5*time.Second) }

// Period is the period whose Grace is grace.
func Period(grace time.Duration) time.Duration { return grace + min(grace/4, 5*time.Second) }

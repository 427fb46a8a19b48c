package rules

import "github.com/musterhq/muster/agent/retry"

// Causes of an end that a rule cannot name.
const (
	// Success is the cause of an end with exit code 0.
	Success = "success"
	// Stopped means that a signal told the launcher to stop.
	Stopped = "stopped"
	// Workers means that the set of workers has changed.
	Workers = "workers"
	// Failed is any other end: the program failed by itself.
	Failed = "failed"
)

// byWeight lists the causes that rules may name. If several are true, the first one counts.
var byWeight = []string{causeDrain, causePreflight, causeDevice, causeOOM, causeLost, causeInfra, causeStall, causeHang}

// CauseOf returns the cause of an end as one word of Ends. stopped means that a signal told the
// launcher to stop.
func CauseOf(e retry.End, stopped bool) string {
	switch {
	case stopped:
		return Stopped
	case e.Asked:
		return Workers
	case e.Code == 0:
		return Success
	}
	for _, cause := range byWeight {
		if causedBy(e, cause) {
			return cause
		}
	}
	return Failed
}

// Ends lists every value of CauseOf.
func Ends() []string {
	return append([]string{Success, Failed, Stopped, Workers}, Causes()...)
}

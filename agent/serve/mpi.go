package serve

import (
	"fmt"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// mpi follows mpi-operator: a job runs when its launcher and all of its workers run. mpi-operator
// does not report restarts.
func (m *mirror) mpi() {
	name := m.object.GetNamespace() + "/" + m.object.GetName()
	over := m.job.CompletionTime != nil
	stopped := m.halted()
	switch {
	case stopped:
		m.say(isSuspended, true, m.kind.reason("Suspended"), "MPIJob suspended")
	case m.s.is(isSuspended):
		m.say(isSuspended, false, m.kind.reason("Resumed"), "MPIJob resumed")
		m.s.StartTime = &m.now
	case m.s.StartTime == nil:
		m.s.StartTime = &m.now
	}
	m.s.ReplicaStatuses = map[string]counts{launcher: {}, worker: {}}
	switch {
	case stopped:
		m.say(running, false, m.kind.reason("Suspended"), fmt.Sprintf("MPIJob %s is suspended.", name))
	case over && m.job.Phase == v1alpha1.PhaseSucceeded:
		m.s.ReplicaStatuses[launcher] = counts{Succeeded: 1}
		m.s.CompletionTime = m.job.CompletionTime
		m.say(hasSucceeded, true, m.kind.reason("Succeeded"), fmt.Sprintf("MPIJob %s successfully completed.", name))
	case over:
		m.s.ReplicaStatuses[launcher] = counts{Failed: max(m.job.Attempt, 1)}
		m.s.CompletionTime = m.job.CompletionTime
		m.mpiFailed()
	default:
		m.count()
		if m.mpiRuns() {
			m.say(running, true, m.kind.reason("Running"), fmt.Sprintf("MPIJob %s is running.", name))
		}
	}
}

// mpiFailed sets the reasons of the batch Job that is mpi-operator's launcher.
func (m *mirror) mpiFailed() {
	if m.job.Reason == deadlineExceeded {
		m.say(hasFailed, true, deadlineExceeded, "Job was active longer than specified deadline")
		return
	}
	// The operator adds a slash and the reason of the launcher's pod, if it has seen that pod by
	// then. For an exit code of the command that reason is empty.
	m.say(hasFailed, true, "BackoffLimitExceeded", "Job has reached the specified backoff limit: "+m.job.Message)
}

func (m *mirror) mpiRuns() bool {
	for _, r := range m.replicas {
		if r.name == worker && int64(m.s.ReplicaStatuses[worker].Active) < r.count {
			return false
		}
	}
	return m.s.ReplicaStatuses[launcher].Active > 0
}

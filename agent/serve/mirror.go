package serve

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// mirror makes the status of an object from that of its LaunchJob.
type mirror struct {
	kind     kind
	object   *unstructured.Unstructured
	replicas []replica
	job      v1alpha1.LaunchJobStatus
	now      metav1.Time
	s        status
}

// newStatus returns the status that the kind's own operator would have written. It does not change
// a finished status.
func newStatus(k kind, o *unstructured.Unstructured, old status, job v1alpha1.LaunchJobStatus, now metav1.Time) status {
	if job.CompletionTime != nil && job.Reason == launchRefused {
		return refused(k, o, old, job.Message, now)
	}
	m := begin(k, o, old, now)
	m.job = job
	switch {
	case m.s.finished():
	case k.version == v2:
		m.mpi()
	default:
		m.training()
	}
	return m.s
}

// refused returns the status of an object that cannot be served.
func refused(k kind, o *unstructured.Unstructured, old status, sentence string, now metav1.Time) status {
	m := begin(k, o, old, now)
	if !m.s.finished() {
		m.s.CompletionTime = &m.now
		m.say(hasFailed, true, cannotServe, sentence)
	}
	return m.s
}

// cannotServe is the reason of an object that cannot be served. launchRefused is the reason of its
// LaunchJob if the controller has rejected that.
const cannotServe, launchRefused = "MusterCannotServe", "Refused"

func begin(k kind, o *unstructured.Unstructured, old status, now metav1.Time) *mirror {
	m := &mirror{kind: k, object: o, replicas: k.replicas(o), now: now, s: old}
	m.s.Conditions, m.s.ReplicaStatuses = slices.Clone(old.Conditions), maps.Clone(old.ReplicaStatuses)
	if m.s.ReplicaStatuses == nil {
		m.s.ReplicaStatuses = map[string]counts{}
	}
	if len(m.s.Conditions) == 0 {
		name := o.GetName()
		if k.version == v2 {
			name = o.GetNamespace() + "/" + name
		}
		m.say(created, true, k.reason("Created"), fmt.Sprintf("%s %s is created.", k.name, name))
	}
	return m
}

// training follows training-operator.
func (m *mirror) training() {
	over := m.job.CompletionTime != nil
	if m.halted() {
		m.suspend()
		return
	}
	if m.s.is(isSuspended) {
		m.say(isSuspended, false, m.kind.reason("Resumed"), fmt.Sprintf("%s %s is resumed.", m.kind.name, m.object.GetName()))
		m.s.StartTime = &m.now
	}
	if m.s.StartTime == nil {
		m.s.StartTime = &m.now
	}
	m.count()
	name, end := m.who()
	isRunning := fmt.Sprintf("%s %s is running.", m.kind.name, name)
	switch {
	case over && m.job.Phase == v1alpha1.PhaseSucceeded:
		if m.kind.name == "XGBoostJob" {
			m.say(running, true, m.kind.reason("Running"), isRunning)
		}
		m.s.CompletionTime = m.job.CompletionTime
		m.say(hasSucceeded, true, m.kind.reason("Succeeded"), fmt.Sprintf("%s %s %s completed.", m.kind.name, name, end))
		for t, c := range m.s.ReplicaStatuses {
			c.Succeeded, c.Active = c.Succeeded+c.Active, 0
			m.s.ReplicaStatuses[t] = c
		}
	case over:
		m.s.CompletionTime = m.job.CompletionTime
		m.say(hasFailed, true, m.failedReason(), m.failure())
	case m.job.Phase == v1alpha1.PhaseRestarting:
		m.say(restarting, true, m.kind.reason("Restarting"), m.again())
	case m.s.ReplicaStatuses[m.kind.lead(m.replicas)].Active > 0:
		m.say(running, true, m.kind.reason("Running"), isRunning)
	}
}

// halted reports whether the object is shown as suspended. That is as long as its LaunchJob is, because a change of the
// object may not have reached the LaunchJob.
func (m *mirror) halted() bool {
	return m.job.Phase == v1alpha1.PhaseSuspended || m.job.Phase == "" && suspended(m.object)
}

// suspend sets what training-operator reports for a suspended job.
func (m *mirror) suspend() {
	for t, c := range m.s.ReplicaStatuses {
		c.Active = 0
		m.s.ReplicaStatuses[t] = c
	}
	text := fmt.Sprintf("%s %s is suspended.", m.kind.name, m.object.GetName())
	if m.s.is(running) {
		m.say(running, false, m.kind.reason("Suspended"), text)
	}
	m.say(isSuspended, true, m.kind.reason("Suspended"), text)
}

// count converts the counts of the LaunchJob's roles. In training-operator active pods are those
// that run; in LaunchJobs they are those that exist. The pods that run are the ready ones, except
// for pods with a probe.
func (m *mirror) count() {
	for _, r := range m.replicas {
		c := counts{Selector: m.kind.selects(m.object.GetName(), r.name)}
		for _, role := range m.job.Roles {
			if role.Name == r.role() {
				c.Active, c.Succeeded, c.Failed = role.Ready, role.Succeeded, role.Failed
			}
		}
		m.s.ReplicaStatuses[r.name] = c
	}
}

// who returns the job's name in messages, and the form of the sentence about its end: with the
// namespace and "successfully", or without it and "is successfully".
func (m *mirror) who() (name, end string) {
	long := m.kind.long || slices.Contains(m.kind.leads, worker) && m.kind.name != "MXJob" && m.kind.lead(m.replicas) == worker
	if long {
		return m.object.GetNamespace() + "/" + m.object.GetName(), "successfully"
	}
	return m.object.GetName(), "is successfully"
}

// say sets a condition.
func (m *mirror) say(kind string, yes bool, reason, message string) {
	word := "False"
	if yes {
		word = "True"
	}
	m.s.set(m.kind.version != v2, condition{Type: kind, Status: word, Reason: reason, Message: message}, m.now)
}

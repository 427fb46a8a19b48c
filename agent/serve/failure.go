package serve

import (
	"cmp"
	"fmt"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// deadlineExceeded is the LaunchJob's reason after its deadline.
const deadlineExceeded = "DeadlineExceeded"

func (m *mirror) failedReason() string { return cmp.Or(m.kind.failed, m.kind.reason("Failed")) }

// failure returns training-operator's sentence about the end of a job, followed by ours: the rank,
// and its last words.
func (m *mirror) failure() string {
	name := m.object.GetName()
	if m.job.Reason == deadlineExceeded {
		return fmt.Sprintf("Job %s has failed because it was active longer than specified deadline", name)
	}
	r, n := m.worst(func(r v1alpha1.RoleStatus) int32 { return r.Failed })
	if n == 0 {
		return fmt.Sprintf("%s %s is failed: %s", m.kind.name, name, m.job.Message)
	}
	text := fmt.Sprintf("%s %s is failed because %d %s replica(s) failed.", m.kind.name, name, n, r.name)
	switch {
	case r.restart != "" && r.restart != "Never" && r.restart != "ExitCode":
		text = fmt.Sprintf("Job %s has failed because it has reached the specified backoff limit", name)
	case m.kind.name == "TFJob":
		text = fmt.Sprintf("TFJob %s/%s has failed because %d %s replica(s) failed.", m.object.GetNamespace(), name, n, r.name)
	case m.kind.name == "MXJob":
		text = fmt.Sprintf("mxjob %s is failed because %d %s replica(s) failed.", name, n, r.name)
	}
	return text + " " + m.job.Message
}

// again returns training-operator's sentence about pods that are being replaced.
func (m *mirror) again() string {
	r, n := m.worst(func(r v1alpha1.RoleStatus) int32 { return r.Desired - r.Ready - r.Succeeded })
	return fmt.Sprintf("%s %s is restarting because %d %s replica(s) failed. %s", m.kind.name, m.object.GetName(), max(n, 1), r.name, m.job.Message)
}

// worst returns the first type with a bad count above 0, else the first type.
func (m *mirror) worst(bad func(v1alpha1.RoleStatus) int32) (replica, int32) {
	for _, r := range m.replicas {
		for _, role := range m.job.Roles {
			if role.Name == r.role() && bad(role) > 0 {
				return r, bad(role)
			}
		}
	}
	if len(m.replicas) == 0 {
		return replica{}, 0
	}
	return m.replicas[0], 0
}

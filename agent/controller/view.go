package controller

import (
	"cmp"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/history"
)

// podsOf returns the pods of places.
func podsOf(places []place) (pods []history.Pod) {
	for _, p := range places {
		if p.pod != nil && p.stage != going {
			pods = append(pods, history.Pod{Pod: p.pod, Container: p.main, Launcher: p.launcher()})
		}
	}
	return pods
}

// end returns the end of the pod's container for the record of the job.
func (p place) end() history.End {
	end := p.run
	end.At, end.Code = p.ended, p.code
	return end
}

// view returns what the record of the job is made from. s is the new status without the record.
func (sc scene) view(job *v1alpha1.LaunchJob, s v1alpha1.LaunchJobStatus) history.View {
	wanted := len(sc.places) - int(job.Spec.Spares)
	if e := job.Spec.Elastic; e != nil {
		wanted = int(e.Min) + 1
	}
	v := history.View{Now: sc.now, Attempt: max(job.Status.Attempt, 1), Pods: podsOf(sc.places), Wanted: wanted, Suspended: runPolicy(job).Suspend, Events: sc.events}
	if s.Reason != reasonWaiting && (s.Phase == v1alpha1.PhaseWaiting || s.Phase == v1alpha1.PhaseRestarting) {
		v.Reason, v.Message = s.Reason, s.Message
	}
	if sc.verdict.over {
		end := sc.verdict.run
		end.Reason = sc.verdict.reason
		if end.At.IsZero() { // a deadline, or a job that cannot be built
			end.At = sc.now
		}
		v.Reason, v.End = "", &end
		if first := sc.verdict.first; first != nil {
			end.Code = cmp.Or(end.Code, first.ExitCode)
		}
	}
	return v
}

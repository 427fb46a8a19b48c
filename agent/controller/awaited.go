package controller

import (
	"cmp"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/retry"
)

// awaited returns which failed members of a job without a launcher the others wait for. Their container
// died while the group ran, or never ran, and the job restarts for that. Members that the agent ends all
// end together. So a member that is still running after quietFor waits for the pods of the others. If any member has ended for good, the group has, and nobody is awaited.
func awaited(job *v1alpha1.LaunchJob, places []place) func(p *place) bool {
	none := func(*place) bool { return false }
	if maxRestarts(job) == 0 || job.Spec.Launcher != nil {
		return none
	}
	classes, err := retry.Parse(cmp.Or(job.Spec.RestartPolicy.RestartOn, retry.Default))
	if err != nil {
		return none
	}
	retried := func(p *place) bool {
		for _, e := range []retry.End{{Code: int(p.code)}, {Lost: !p.began() || p.code == 128+int32(syscall.SIGKILL)}} {
			account := retry.Account{Policy: retry.Policy{Max: 1, On: classes}}
			if account.Decide(e, time.Time{}).Again {
				return true
			}
		}
		return false
	}
	var since time.Time // when the first of the running members started
	for i := range places {
		switch p := &places[i]; {
		case p.stage == done && (p.code == 0 || p.cause != "" || !retried(p)):
			return none
		case p.stage == running:
			if began := p.status().State.Running.StartedAt.Time; since.IsZero() || began.Before(since) {
				since = began
			}
		}
	}
	return func(p *place) bool {
		return p.stage == done && (!p.began() || !since.IsZero() && since.Before(p.ended))
	}
}

package jobs

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// Which selects whose logs to read. The zero value means the launcher's if there is one, which
// contains all output of an MPI job, else those of all pods.
type Which struct {
	Rank *int   // lines of this rank: from the launcher's log if there is a launcher, else from its pod's
	Role string // launcher, worker, ps...
	All  bool   // of every pod
}

func (w Which) wants(job *v1alpha1.LaunchJob, m jobPod) bool {
	switch {
	case w.launcher(job):
		return m.role == names.RoleLauncher
	case w.Rank != nil:
		return m.rank == *w.Rank/procs(job)
	case w.Role != "":
		return strings.EqualFold(m.role, w.Role)
	}
	return true
}

// launcher reports whether only the launcher's log can have what is selected.
func (w Which) launcher(job *v1alpha1.LaunchJob) bool {
	if w.Role != "" {
		return strings.EqualFold(w.Role, names.RoleLauncher)
	}
	return job.Spec.Launcher != nil && !w.All
}

// one reports whether at most one pod at a time can be selected.
func (w Which) one(job *v1alpha1.LaunchJob) bool { return w.Rank != nil || w.launcher(job) }

// check returns an error for a rank or role that no pod of the job can ever have. A suspended job
// may still get other pods. Only the launcher's log shows how many ranks it starts; see ranked.
func (w Which) check(a *API, job *v1alpha1.LaunchJob) error {
	switch {
	case job.Spec.RunPolicy != nil && job.Spec.RunPolicy.Suspend:
	case w.Rank != nil && job.Spec.Launcher == nil && *w.Rank >= ranks(job):
		return failure.Usage(a.Line("get "+job.Name)+" lists its pods", "--rank=%d: %s has only %s", *w.Rank, job.Name, rankSpan(ranks(job)))
	case w.Role != "":
		return checkRole(job, w.Role)
	}
	return nil
}

func checkRole(job *v1alpha1.LaunchJob, asked string) error {
	var have []string
	if job.Spec.Launcher != nil {
		have = append(have, names.RoleLauncher)
	}
	for _, r := range job.Spec.Roles {
		if replicas(job, r) > 0 {
			have = append(have, r.Name)
		}
	}
	for _, name := range have {
		if strings.EqualFold(name, asked) {
			return nil
		}
	}
	return failure.Usage("--role="+strings.Join(have, ", --role="), "--role=%s: %s has no pod of this role, only of %s", asked, job.Name, strings.Join(have, ", "))
}

// procs returns how many ranks each pod besides the launcher has.
func procs(job *v1alpha1.LaunchJob) int {
	if p := job.Spec.ProcsPerWorker; p != nil {
		return max(1, int(*p))
	}
	return 1
}

// ranks returns the largest number of ranks for which the job's pods have places.
func ranks(job *v1alpha1.LaunchJob) int {
	pods := size(job)
	if e := job.Spec.Elastic; e != nil {
		pods = max(pods, int(e.Max))
	}
	if job.Spec.Launcher == nil {
		return pods * procs(job)
	}
	return pods*max(procs(job), int(job.Spec.Slots)) + int(job.Spec.Launcher.Slots)
}

// rankSpan returns text such as "ranks 0 to 3".
func rankSpan(n int) string {
	if n == 1 {
		return "one rank, 0"
	}
	return fmt.Sprintf("ranks 0 to %d", n-1)
}

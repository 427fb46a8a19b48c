package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/exclude"
	"github.com/musterhq/muster/agent/controller/history"
	"github.com/musterhq/muster/agent/controller/progress"
	"github.com/musterhq/muster/agent/controller/reports"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// scene is everything that a status is made from.
type scene struct {
	places  []place
	steps   steps
	verdict verdict
	blocked *obstacle      // what the API server or a gang's scheduler reported
	events  []corev1.Event // of pods that a node cannot prepare
	unread  bool           // the right to read them is missing
	gang    choice         // what this reconcile chose for gang.backend auto
	token   string         // the Secret that pods share, if this reconcile created one
	line    line           // what Kueue says
	alive   int            // pods of the job, those of earlier attempts too
	now     time.Time
	version string
}

// newStatus describes the scene. It returns a changed copy.
func newStatus(job *v1alpha1.LaunchJob, sc scene) v1alpha1.LaunchJobStatus {
	s := job.Status.DeepCopy()
	s.ObservedGeneration = job.Generation
	s.Attempt = max(s.Attempt, 1)
	s.TokenSecret = cmp.Or(sc.token, s.TokenSecret)
	s.Gang = cmp.Or(sc.gang.backend, s.Gang)
	s.Selector = names.LabelJob + "=" + job.Name + "," + names.LabelRole + "=" + names.RoleWorker
	ready, wanted := count(s, sc)
	s.Spares = spares(job, &ready, &wanted, s.Spares, sc.verdict.over)
	if !sc.verdict.over { // a run that has ended keeps its last value
		s.Ready = fmt.Sprintf("%d/%d", ready, wanted)
	}
	remember(s, sc)
	s.Completed = completed(job, sc.places)
	switch {
	case sc.verdict.over:
		finish(s, job, sc)
		s.Progress = progress.Last(s.TrainerStatus)
	case runPolicy(job).Suspend:
		s.StartTime, s.Completed = nil, "" // a resumed job begins with all pods
		if sc.alive == 0 {                 // until then Kueue holds the quota
			s.Gang = "" // a resumed job may find another scheduler
		}
		why := obstacle{reasonSuspended, "runPolicy.suspend is true"}
		if sc.blocked != nil {
			why.message += ", and the job would be refused: " + sc.blocked.message
		}
		say(s, v1alpha1.PhaseSuspended, why, v1alpha1.Suspended, v1alpha1.Admitted, v1alpha1.WorkersReady, v1alpha1.Launched, v1alpha1.Stalled, v1alpha1.Restarting)
	default:
		s.StartTime = cmp.Or(s.StartTime, &metav1.Time{Time: sc.now})
		if admit(s, sc.line); sc.line.On && !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Admitted) {
			s.StartTime = nil // a deadline does not count the time in a queue
		}
		set(s, v1alpha1.Suspended, false, obstacle{reasonResumed, ""})
		ongoing(s, sc, ready == wanted, enough(job, ready, wanted))
		listen(s, sc)
	}
	s.Timeline = history.Next(s.Timeline, sc.view(job, *s))
	return *s
}

// admit reports in a condition whether Kueue has admitted the job. While nothing is known the condition stays.
func admit(s *v1alpha1.LaunchJobStatus, l line) {
	switch o := l.obstacle(); {
	case l.On && l.Pods:
		set(s, v1alpha1.Admitted, true, obstacle{reasonAdmitted, "by ClusterQueue " + l.Current.Queue()})
	case l.On && !l.Keep && o != nil:
		set(s, v1alpha1.Admitted, false, *o)
	}
}

// spares takes the spares out of the numbers of ready and wanted workers, and returns their own. Any
// workers may be the spares: there are as many as are ready beyond the workers of a run.
func spares(job *v1alpha1.LaunchJob, ready, wanted *int, before string, over bool) string {
	n := int(job.Spec.Spares)
	if n == 0 {
		return ""
	}
	*wanted -= n
	idle := max(*ready-*wanted, 0)
	*ready -= idle
	if over {
		return before
	}
	return fmt.Sprintf("%d/%d", idle, n)
}

// enough reports whether a job can run with so many of its wanted workers. Neither number has spares.
func enough(job *v1alpha1.LaunchJob, ready, wanted int) bool {
	e := job.Spec.Elastic
	return ready >= wanted || e != nil && ready >= int(e.Min)
}

// count fills in the counts of the roles.
func count(s *v1alpha1.LaunchJobStatus, sc scene) (ready, wanted int) {
	var roles []v1alpha1.RoleStatus
	s.Workers = 0
	led := len(sc.places) > 0 && sc.places[0].launcher()
	for _, p := range sc.places {
		i := slices.IndexFunc(roles, func(r v1alpha1.RoleStatus) bool { return r.Name == p.role })
		if i < 0 {
			i, roles = len(roles), append(roles, v1alpha1.RoleStatus{Name: p.role})
		}
		r := &roles[i]
		r.Desired++
		if p.pod != nil && p.role == names.RoleWorker {
			s.Workers++
		}
		switch {
		case p.stage == done && p.code == 0:
			r.Succeeded++
		case p.stage == done:
			r.Failed++
		case p.pod != nil:
			r.Active++
		}
		if p.ready || p.unwell() { // it is ready, and its probe only reports on the run
			r.Ready++
		}
		if !p.launcher() {
			wanted++
			if p.ready || p.stage == done && p.began() && (p.code == 0 || !led) { // or it was ready before it ended
				ready++
			}
		}
	}
	s.Roles = roles
	return ready, wanted
}

// completed lists the ranks whose work is done. Members that the agent starts end together, so it lists only pods whose
// image starts its own command. A pod that is being deleted may be one of a job that was suspended and resumed.
func completed(job *v1alpha1.LaunchJob, places []place) string {
	b, alone := builder{job: job}, job.Spec.Launcher == nil
	var over []bool
	for _, p := range places {
		over = append(over, p.over || alone && p.stage == done && p.code == 0 && p.pod.DeletionTimestamp == nil && b.unwrapped(p.slot))
	}
	return history.List(over)
}

// emptied returns the status of a job that has ended, without the pods that have ended or gone since. How
// many have succeeded and failed stays as it was at the end.
func emptied(job *v1alpha1.LaunchJob, sc scene) v1alpha1.LaunchJobStatus {
	s, left := job.Status.DeepCopy(), &v1alpha1.LaunchJobStatus{}
	s.ObservedGeneration = job.Generation
	count(left, sc)
	s.Workers = min(s.Workers, left.Workers)
	for i := range s.Roles {
		r := &s.Roles[i]
		have := v1alpha1.RoleStatus{} // also for a role that the job no longer has
		if n := slices.IndexFunc(left.Roles, func(l v1alpha1.RoleStatus) bool { return l.Name == r.Name }); n >= 0 {
			have = left.Roles[n]
		}
		r.Active, r.Ready = min(r.Active, have.Active), min(r.Ready, have.Ready)
	}
	return *s
}

// remember keeps what is seen only once: replaced pods, excluded nodes and images.
func remember(s *v1alpha1.LaunchJobStatus, sc scene) {
	for _, f := range sc.steps.record {
		s.Replaced = append(s.Replaced, f.Replaced)
	}
	s.ExcludedNodes = append(s.ExcludedNodes, exclude.Added(sc.steps.nodes)...)
	s.Replaced = history.Bounded(s.Replaced, func(uid string) bool {
		return slices.ContainsFunc(sc.places, func(p place) bool { return p.pod != nil && string(p.pod.UID) == uid })
	})
	s.Replacements += sc.steps.counts
	if s.Agent == nil {
		s.Agent = &v1alpha1.AgentStatus{Version: sc.version}
	}
	for i := range sc.places {
		p := &sc.places[i]
		if p.pod == nil {
			continue
		}
		if id := p.status().ImageID; id != "" && !slices.Contains(s.Agent.Images, id) && len(s.Agent.Images) < 16 {
			s.Agent.Images = append(s.Agent.Images, id)
		}
	}
}

// finish reports how the job ended, or that its pods restart.
func finish(s *v1alpha1.LaunchJobStatus, job *v1alpha1.LaunchJob, sc scene) {
	v := sc.verdict
	if s.FirstFailure == nil {
		s.FirstFailure = v.first
	}
	reports.Keep(s, v.before, v.first)
	reports.Spend(s, v.spent)
	if v.evicted {
		s.Attempt++
		s.Replacements, s.Completed = 0, ""
		s.Evictions++
		s.StartTime = nil
		say(s, v1alpha1.PhaseWaiting, obstacle{v.reason, v.message}, "", v1alpha1.Admitted, v1alpha1.WorkersReady, v1alpha1.Launched, v1alpha1.Restarting, v1alpha1.Stalled)
		return
	}
	if v.retried(job, s.Attempt) {
		s.Attempt++
		s.Replacements, s.Completed = 0, "" // its pods may be replaced as often as the first ones
		why := obstacle{reasonAgain, fmt.Sprintf("attempt %d, with new pods: %s", s.Attempt, v.message)}
		say(s, v1alpha1.PhaseRestarting, why, v1alpha1.Restarting, v1alpha1.Launched, v1alpha1.Stalled)
		return
	}
	s.CompletionTime = &metav1.Time{Time: sc.now}
	phase, kind := v1alpha1.PhaseFailed, v1alpha1.Failed
	if v.good {
		phase, kind = v1alpha1.PhaseSucceeded, v1alpha1.Succeeded
		set(s, v1alpha1.Launched, true, obstacle{reasonLaunched, v.message}) // ends the wait of anyone who waits for this condition
	}
	if meta.IsStatusConditionFalse(s.Conditions, v1alpha1.WorkersReady) { // the wait is over
		set(s, v1alpha1.WorkersReady, false, obstacle{v.reason, "the job ended with " + s.Ready + " workers ready"})
	}
	say(s, phase, obstacle{v.reason, v.message}, kind, v1alpha1.Restarting, v1alpha1.Stalled)
}

// ongoing reports what a running job is doing, or why it does not run. An elastic job may have enough
// ready workers without having all. It runs then, and its reason says what the others wait for.
func ongoing(s *v1alpha1.LaunchJobStatus, sc scene, allReady, enough bool) {
	launched := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Launched)
	up := len(sc.places) > 0 && (!sc.places[0].launcher() || sc.places[0].stage == running)
	gone := slices.ContainsFunc(sc.places, func(p place) bool { return p.stage != running && p.stage != done })
	o := worst(sc)
	if sc.steps.lost != "" {
		o = obstacle{reasonLost, sc.steps.lost + " is lost, and no restart is left (restartPolicy.maxRestarts): the launcher ends without it"}
	}
	if enough {
		set(s, v1alpha1.WorkersReady, true, obstacle{reasonReady, s.Ready})
	} else if !launched || gone || sc.blocked != nil {
		set(s, v1alpha1.WorkersReady, false, o)
	}
	switch {
	case enough && up:
		what := "launcher and workers run"
		if !sc.places[0].launcher() {
			what = "all members run"
		}
		run := obstacle{reasonLaunched, what}
		set(s, v1alpha1.Launched, true, run)
		if !sc.places[0].unwell() { // else listen decides: a condition that is set twice looks like a change
			set(s, v1alpha1.Restarting, false, run)
		}
		if allReady && sc.blocked == nil {
			o = obstacle{}
		}
		say(s, v1alpha1.PhaseRunning, o, "")
	case launched && !gone && sc.blocked == nil: // pods end, and the launcher knows it
		say(s, v1alpha1.PhaseRunning, obstacle{}, "")
	case launched && gone && sc.steps.lost == "":
		say(s, v1alpha1.PhaseRestarting, o, v1alpha1.Restarting)
	case launched:
		say(s, v1alpha1.PhaseRunning, o, "")
	case s.Phase == v1alpha1.PhaseRestarting:
		say(s, s.Phase, o, "")
	default:
		say(s, v1alpha1.PhaseWaiting, o, "")
	}
	if fewer := sc.line.obstacle(); fewer != nil && s.Phase == v1alpha1.PhaseRunning && s.Reason == "" {
		s.Reason, s.Message = fewer.reason, fewer.message
	}
}

// worst returns the most important reason among the pods that are not ready, or what the API server
// reported.
func worst(sc scene) obstacle {
	if sc.blocked != nil {
		return *sc.blocked
	}
	var list []rendezvous.Reason
	for _, p := range sc.places {
		if p.ready || p.pod == nil || p.stage == done && p.code == 0 || p.launcher() && p.stage == running {
			continue
		}
		if r := rendezvous.Because(rendezvous.Explain(p.pod, p.main, sc.now), p.pod, sc.events); !r.OK() {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return obstacle{reasonWaiting, "pods are being created"}
	}
	first, text := rendezvous.Causes(list)
	switch {
	case first.Code == rendezvous.NoAgent || slices.ContainsFunc(sc.events, func(e corev1.Event) bool { return e.Reason == string(first.Code) }):
		text += "; hint: " + first.Hint
	case first.Code == rendezvous.ContainerCreating && sc.unread:
		text += `; its events show why, but the controller has no permission to list events: add {apiGroups: [""], resources: [events], verbs: [list]} to ClusterRole muster-controller`
	}
	return obstacle{string(first.Code), reports.Clip(text, 1000)}
}

// say sets the phase and its reason. It makes the condition on true, and sets those of off that
// exist to false.
func say(s *v1alpha1.LaunchJobStatus, phase string, why obstacle, on string, off ...string) {
	s.Phase, s.Reason, s.Message = phase, why.reason, why.message
	if on != "" {
		set(s, on, true, why)
	}
	for _, kind := range off {
		set(s, kind, false, why)
	}
}

// set sets a condition. A condition that was never true is left out, except for WorkersReady.
func set(s *v1alpha1.LaunchJobStatus, kind string, yes bool, why obstacle) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: why.reason, Message: why.message, ObservedGeneration: s.ObservedGeneration}
	if yes {
		c.Status = metav1.ConditionTrue
	}
	if yes || kind == v1alpha1.WorkersReady || meta.FindStatusCondition(s.Conditions, kind) != nil {
		meta.SetStatusCondition(&s.Conditions, c)
	}
}

// unscheduled reports whether pods wait for a node, so that their gang's object may say why.
func unscheduled(places []place) bool {
	return slices.ContainsFunc(places, func(p place) bool {
		return p.stage == starting && p.pod.Spec.NodeName == "" && p.pod.Status.Phase == corev1.PodPending
	})
}

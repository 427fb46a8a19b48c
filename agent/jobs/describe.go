package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
)

// Describe writes everything about a job for people: its phase and the reason, its first failure,
// its conditions and its pods.
func (a *API) Describe(ctx context.Context, w io.Writer, name string, colored bool) error {
	job, err := a.Job(ctx, name)
	if err != nil {
		return err
	}
	pods, err := a.pods(ctx, a.Namespace, name)
	if err != nil {
		return a.explain(ctx, "list the pods of "+name, err)
	}
	now := time.Now()
	var b strings.Builder
	facts(&b, job, now)
	if len(job.Status.Conditions) > 0 {
		b.WriteString("\nConditions:\n")
		_ = conditions(job, now).Print(&b)
	}
	if len(pods) > 0 {
		b.WriteString("\nPods:\n")
		t := podTable(podsOf(name, pods), now)
		if colored {
			t.Color = PhaseColor
		}
		_ = t.Print(&b) // cannot fail: into memory
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func facts(b *strings.Builder, job *v1alpha1.LaunchJob, now time.Time) {
	s, spec := job.Status, job.Spec
	fact := func(name, format string, args ...any) { // on one line, which foreign text cannot break
		fmt.Fprintf(b, "%-15s%s\n", name+":", failure.Visible(oneLine(fmt.Sprintf(format, args...))))
	}
	fact("Name", "%s", job.Name)
	fact("Namespace", "%s", job.Namespace)
	fact("Phase", "%s", cmp.Or(s.Phase, "none: the controller has not seen it yet"))
	if s.Reason != "" {
		fact("Reason", "%s: %s", s.Reason, s.Message)
	}
	fact("Framework", "%s", cmp.Or(spec.Framework, "auto"))
	fact("Pods", "%s", shape(job))
	if s.Ready != "" {
		fact("Ready", "%s", s.Ready)
	}
	fact("Created", "%s", ago(&job.CreationTimestamp, now))
	fact("Started", "%s", ago(s.StartTime, now))
	if s.CompletionTime != nil {
		fact("Ended", "%s", ago(s.CompletionTime, now))
	}
	if s.Progress != "" {
		fact("Progress", "%s%s", s.Progress, reported(s, now))
	}
	if s.Goodput != "" {
		fact("Goodput", "%s", s.Goodput+spent(s.Spent))
	}
	if s.Attempt > 1 {
		fact("Attempt", "%d", s.Attempt)
	}
	if f := s.FirstFailure; f != nil {
		fact("First failure", "%s", failed(f))
	}
	for _, a := range s.FailedAttempts {
		if len(s.FailedAttempts) == 1 && s.FirstFailure != nil {
			break // it is the first failure
		}
		fact("Failed", "attempt %d, restart %d: %s", a.Attempt, a.Restart, failed(&a.FirstFailure))
	}
	for _, r := range s.Replaced {
		fact("Replaced", "%s, %s: %s", r.Pod, ago(&r.Time, now), r.Reason)
	}
	for _, n := range s.ExcludedNodes {
		fact("Excluded", "node %s, %s: failed twice (%s)", n.Node, ago(&n.Time, now), n.Cause)
	}
}

// spent returns what the workers' time was spent on: ": productive 3351 s, lost 20 s".
func spent(classes []v1alpha1.TimeSpent) string {
	var parts []string
	for _, one := range classes {
		parts = append(parts, fmt.Sprintf("%s %d s", one.Class, one.Seconds))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// shape describes the pods of a job: launcher, 4 worker of 8 slots.
func shape(job *v1alpha1.LaunchJob) string {
	var parts []string
	if job.Spec.Launcher != nil {
		parts = append(parts, "launcher")
	}
	for _, r := range job.Spec.Roles {
		parts = append(parts, fmt.Sprintf("%d %s", replicas(job, r), r.Name))
	}
	text := strings.Join(parts, ", ")
	if job.Spec.Slots > 1 {
		text += fmt.Sprintf("; %d slots each", job.Spec.Slots)
	}
	return text
}

func ago(t *metav1.Time, now time.Time) string {
	if t.IsZero() {
		return "not yet"
	}
	return t.Format(time.RFC3339) + " (" + age(*t, now) + " ago)"
}

func conditions(job *v1alpha1.LaunchJob, now time.Time) Columns {
	t := Columns{Head: []string{"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"}}
	for _, c := range job.Status.Conditions {
		t.Rows = append(t.Rows, []string{c.Type, string(c.Status), age(c.LastTransitionTime, now), c.Reason, oneLine(c.Message)})
	}
	return t
}

func podTable(all []jobPod, now time.Time) Columns {
	t := Columns{Head: []string{"NAME", "ROLE", "RANK", "STATUS", "NODE", "AGE"}}
	for _, m := range all {
		rank := "-"
		if m.rank >= 0 {
			rank = strconv.Itoa(m.rank)
		}
		t.Rows = append(t.Rows, []string{m.pod.Name, m.role, rank, standing(m.pod), cmp.Or(m.pod.Spec.NodeName, "<none>"), age(m.pod.CreationTimestamp, now)})
	}
	return t
}

// standing returns a pod's status in kubectl's words: the reason of a container takes precedence
// over the pod's phase.
func standing(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	starting := pod.Status.InitContainerStatuses
	if isInitialized(pod) {
		starting = nil // what fails later is a sidecar, as by SIGTERM at the end
	}
	for _, s := range starting {
		switch t, w := s.State.Terminated, s.State.Waiting; {
		case t != nil && t.ExitCode != 0:
			return "Init:" + cmp.Or(t.Reason, "Error")
		case w != nil && w.Reason != "" && w.Reason != "PodInitializing":
			return "Init:" + w.Reason
		}
	}
	text := cmp.Or(pod.Status.Reason, string(pod.Status.Phase))
	for _, s := range pod.Status.ContainerStatuses {
		switch t, w := s.State.Terminated, s.State.Waiting; {
		case w != nil && w.Reason != "":
			text = w.Reason
		case t != nil && t.Reason != "":
			text = t.Reason
		}
	}
	return text
}

// isInitialized reports whether the pod's init containers have done their part.
func isInitialized(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue
	})
}

// reported says how old the last report about progress is, if the job still runs.
func reported(s v1alpha1.LaunchJobStatus, now time.Time) string {
	if s.TrainerStatus == nil || s.CompletionTime != nil {
		return ""
	}
	return " (reported " + age(s.TrainerStatus.LastUpdatedTime, now) + " ago)"
}

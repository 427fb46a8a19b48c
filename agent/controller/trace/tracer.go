package trace

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/tracecontext"
)

// Tracer makes the trace of each job.
type Tracer struct {
	getenv func(string) string
	send   func(line []byte)
}

// New returns a Tracer that passes each span on as a line of JSON. It returns nil if the OTEL_ variables ask
// for no traces. getenv returns the value of a variable, or "". send must not block.
func New(getenv func(string) string, send func(line []byte)) *Tracer {
	if !tracecontext.On(getenv) {
		return nil
	}
	return &Tracer{getenv: getenv, send: send}
}

// run returns the place of a job in a trace. It is the trace of the TRACEPARENT that the user has set in the
// launcher's template. Without one, the job has a trace of its own.
func (t *Tracer) run(job *v1alpha1.LaunchJob) tracecontext.Run {
	var parent tracecontext.Context
	if l := job.Spec.Launcher; l != nil {
		for _, c := range l.Template.Spec.Containers {
			if given := valueOf(c.Env, tracecontext.EnvParent); given != "" && !parent.Valid() {
				parent, _ = tracecontext.Parse(given, valueOf(c.Env, tracecontext.EnvState)) // the launcher warns about a bad one
			}
		}
	}
	return tracecontext.Derived(t.getenv, string(job.UID), parent)
}

func valueOf(env []corev1.EnvVar, name string) string {
	if i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name }); i >= 0 {
		return env[i].Value
	}
	return ""
}

// Env returns the variables that hand the context of an attempt of the pods to the job's launcher.
func (t *Tracer) Env(job *v1alpha1.LaunchJob, attempt int32) (env []corev1.EnvVar) {
	if t == nil {
		return nil
	}
	self := podsOf(t.run(job).Root, attempt)
	if !self.Valid() {
		return nil
	}
	env = []corev1.EnvVar{{Name: tracecontext.EnvParent, Value: self.String()}}
	if self.State != "" {
		env = append(env, corev1.EnvVar{Name: tracecontext.EnvState, Value: self.State})
	}
	return env
}

// Tell sends the spans that have ended with a change of the job's status, which was written.
func (t *Tracer) Tell(job *v1alpha1.LaunchJob, old, status *v1alpha1.LaunchJobStatus) {
	if t == nil {
		return
	}
	run := t.run(job)
	if !run.Root.Sampled() {
		return
	}
	told, folded := map[string]bool{}, old.Timeline != nil && old.Timeline.OmittedAttempts > 0
	for _, s := range ended(job, old, merged(old.Timeline, nil), folded, run) {
		told[s.Self] = true
	}
	for _, s := range ended(job, status, merged(old.Timeline, status.Timeline), folded, run) {
		if told[s.Self] {
			continue
		}
		if line, err := json.Marshal(s); err == nil { // its times are in years that JSON has
			t.send(append(line, '\n'))
		}
	}
}

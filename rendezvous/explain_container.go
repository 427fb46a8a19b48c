package rendezvous

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// initialising explains an init container that runs, waits or has failed.
func (e explainer) initialising() Reason {
	p := e.pod
	for i, s := range p.Status.InitContainerStatuses {
		spec := initSpec(p, s.Name)
		sidecar := spec != nil && spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
		switch t := s.State.Terminated; {
		case t != nil && t.ExitCode == 0, sidecar && s.State.Running != nil:
			continue
		case s.State.Running != nil:
			return Reason{
				Code: Init, Brief: fmt.Sprintf("Init: container %s runs (%d of %d)", s.Name, i+1, len(p.Status.InitContainerStatuses)),
				Sentence: fmt.Sprintf("%s: init container %s still runs%s", p.Name, s.Name, lasting(s.State.Running.StartedAt.Time, e.now)),
				Hint:     e.logs(s.Name, false), Since: s.State.Running.StartedAt.Time,
			}
		}
		r := e.status(s)
		if r.OK() || r.Code == ContainerCreating {
			return r
		}
		r.Brief = fmt.Sprintf("Init: container %s: %s", s.Name, r.Brief)
		r.Sentence = strings.Replace(r.Sentence, "container "+s.Name, "init container "+s.Name, 1)
		r.Code = Init
		return r
	}
	return Reason{}
}

// own explains the role's own container.
func (e explainer) own() Reason {
	if s := containerStatus(e.pod, e.container); s != nil {
		return e.status(*s)
	}
	if e.pod.Status.Phase == corev1.PodFailed || e.pod.Status.Phase == corev1.PodSucceeded {
		return Reason{
			Code: Error, Permanent: true, Grace: e.ownedGrace(), Brief: "Error: the pod has ended",
			Sentence: fmt.Sprintf("%s: the pod has ended (%s), and its container %s never ran", e.pod.Name, e.pod.Status.Phase, e.container),
			Hint:     e.describe(),
		}
	}
	return e.creating("ContainerCreating", "")
}

// status explains one container. The zero Reason means that it runs.
func (e explainer) status(s corev1.ContainerStatus) Reason {
	switch {
	case s.State.Running != nil:
		return Reason{}
	case s.State.Terminated != nil:
		return e.terminated(s, *s.State.Terminated)
	case s.State.Waiting != nil:
		return e.waiting(s, *s.State.Waiting)
	}
	return e.creating("ContainerCreating", "")
}

func (e explainer) waiting(s corev1.ContainerStatus, w corev1.ContainerStateWaiting) Reason {
	p := e.pod
	image := or(s.Image, e.image(s.Name))
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return e.pull(s.Name, image, w)
	case "InvalidImageName":
		return Reason{
			Code: InvalidImage, Permanent: true, Brief: "InvalidImageName: " + image,
			Sentence: fmt.Sprintf("%s: container %s has image %q, which is not a valid image name", p.Name, s.Name, image),
			Hint:     "correct the image in the pod's template; an image name is like registry/repository:tag, in lower case",
		}
	case "CreateContainerConfigError":
		cause, _, _ := strings.Cut(w.Message, ` (pod: "`) // the message repeats the pod with its uid; our sentence names it already
		return Reason{
			Code: ConfigError, Permanent: true, Brief: "CreateContainerConfigError: " + clip(cause, 120),
			Sentence: fmt.Sprintf("%s: container %s cannot be configured: %s", p.Name, s.Name, clip(cause, 400)),
			Hint:     "create the Secret, ConfigMap or key that is named, or correct the securityContext",
		}
	case "CreateContainerError", "RunContainerError", "PostStartHookError":
		return e.start(s.Name, w.Reason, w.Message, int(s.RestartCount))
	case "CrashLoopBackOff":
		if t := s.LastTerminationState.Terminated; t != nil {
			return e.terminated(s, *t)
		}
		return Reason{
			Code: CrashLoop, Permanent: s.RestartCount >= 2, Brief: "CrashLoopBackOff",
			Sentence: fmt.Sprintf("%s: container %s keeps restarting (%s)", p.Name, s.Name, restarts(s)),
			Hint:     e.logs(s.Name, true),
		}
	case "RestartingAllContainers":
		r := e.creating(w.Reason, "")
		r.Sentence = p.Name + ": the kubelet restarts all containers of the pod, by a rule of its template (RestartAllContainers)"
		r.Since = e.now
		return r
	case "", "ContainerCreating", "PodInitializing":
		return e.creating(or(w.Reason, "ContainerCreating"), w.Message)
	}
	return e.creating(w.Reason, w.Message) // an unknown word is passed on as it is
}

// creating explains a container that waits for its sandbox, network, volumes or init containers.
func (e explainer) creating(word, message string) Reason {
	p := e.pod
	since := p.CreationTimestamp.Time
	if p.Status.StartTime != nil {
		since = p.Status.StartTime.Time
	}
	r := Reason{
		Code: ContainerCreating, Brief: word, Since: since,
		Sentence: fmt.Sprintf("%s: node %s has been preparing its containers%s", p.Name, or(p.Spec.NodeName, "(none)"), lasting(since, e.now)),
		Hint:     "if it lasts, a volume or the network is missing: " + e.describe(),
	}
	if message != "" {
		r.Brief += ": " + clip(message, 120)
		r.Sentence += ": " + clip(message, 300)
	}
	return r
}

func (e explainer) terminated(s corev1.ContainerStatus, t corev1.ContainerStateTerminated) Reason {
	p := e.pod
	never := p.Spec.RestartPolicy == corev1.RestartPolicyNever && !Restarts(p, s.Name, t.ExitCode)
	over := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded || never
	r := Reason{Since: t.FinishedAt.Time, Permanent: over || s.RestartCount >= 2, Hint: e.logs(s.Name, s.RestartCount > 0 && s.State.Terminated == nil)}
	if over {
		r.Grace = e.ownedGrace()
	}
	why := clip(telling(t.Message), 200)
	switch {
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		return e.start(s.Name, t.Reason, t.Message, int(s.RestartCount))
	case t.Reason == "OOMKilled":
		limit := memoryLimit(p, s.Name)
		r.Code, r.Brief = OOMKilled, "OOMKilled: container "+s.Name+limit.words
		r.Sentence = fmt.Sprintf("%s: container %s was killed for its memory (OOMKilled%s, %s)", p.Name, s.Name, limit.words, restarts(s))
		r.Hint = limit.hint()
		return r
	case t.ExitCode == 0 && t.Signal == 0:
		r.Code, r.Brief = Completed, "Completed: container "+s.Name+" ended before the job began"
		r.Sentence = fmt.Sprintf("%s: container %s ended with exit code 0 before the job began (%s)", p.Name, s.Name, restarts(s))
		r.Hint = "the command of the worker must be `agent worker`, which keeps running; " + r.Hint
		return r
	}
	r.Code = Error
	if s.State.Waiting != nil || s.RestartCount >= 2 {
		r.Code = CrashLoop
	}
	r.Brief = fmt.Sprintf("%s: %s", r.Code, ended(t))
	r.Sentence = fmt.Sprintf("%s: container %s ended with %s (%s)", p.Name, s.Name, ended(t), restarts(s))
	if why != "" {
		r.Brief += ": " + clip(why, 100)
		r.Sentence += ": " + why
	}
	return r
}

// noFile matches the errors of runc and crun for a command whose first word does not exist.
var noFile = regexp.MustCompile("exec: \"([^\"]+)\": (?:stat|executable file not found)|executable file `([^`]+)` not found")

// start explains a container whose command the runtime could not start. A restart does not add a
// file to an image.
func (e explainer) start(container, word, message string, restarted int) Reason {
	p := e.pod
	r := Reason{
		Code: StartError, Permanent: true, Grace: OwnedGrace,
		Brief:    word + ": " + clip(lastClause(message), 140),
		Sentence: fmt.Sprintf("%s: container %s cannot be started (%s, %s): %s", p.Name, container, word, plural(restarted, "restart", "restarts"), clip(lastClause(message), 400)),
		Hint:     "correct command, args or image of container " + container + "; " + e.describe(),
	}
	m := noFile.FindStringSubmatch(message)
	if m == nil {
		return r
	}
	file := m[1] + m[2]
	r.Grace = 0
	if e.agentVerb(container, file) {
		file = names.AgentPath
	}
	if path.Base(file) == "agent" {
		return LinkNoAgent(p.Name, container, file, lastClause(message))
	}
	r.Brief = fmt.Sprintf("%s: no %s in image %s", word, file, e.image(container))
	return r
}

// agentVerb reports whether word is a verb of the agent that the container passes to the entrypoint
// of its image. If the runtime looks for a file of that name, the entrypoint is not the agent.
func (e explainer) agentVerb(container, word string) bool {
	c := e.spec(container)
	return c != nil && len(c.Command) == 0 && len(c.Args) > 0 && c.Args[0] == word && (word == "run" || word == "join" || word == "worker")
}

func (e explainer) logs(container string, previous bool) string {
	text := fmt.Sprintf("see kubectl logs %s -c %s -n %s", e.pod.Name, container, or(e.pod.Namespace, corev1.NamespaceDefault))
	if previous {
		text += " --previous"
	}
	return text
}

func (e explainer) spec(container string) *corev1.Container {
	for i := range e.pod.Spec.Containers {
		if c := &e.pod.Spec.Containers[i]; c.Name == container {
			return c
		}
	}
	return initSpec(e.pod, container)
}

func initSpec(pod *corev1.Pod, container string) *corev1.Container {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == container {
			return c
		}
	}
	return nil
}

func (e explainer) image(container string) string {
	if c := e.spec(container); c != nil {
		return c.Image
	}
	return "(unknown)"
}

func ended(t corev1.ContainerStateTerminated) string {
	switch {
	case t.Signal != 0:
		return fmt.Sprintf("signal %d", t.Signal)
	case t.ExitCode > 128 && t.ExitCode <= 128+64:
		return fmt.Sprintf("exit code %d (signal %d)", t.ExitCode, t.ExitCode-128)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}

func restarts(s corev1.ContainerStatus) string {
	return plural(int(s.RestartCount), "restart", "restarts")
}

// telling returns the most useful line of a termination message: the last one, because the message
// may be the end of a log.
func telling(message string) string {
	lines := strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			return line
		}
	}
	return ""
}

// lastClause returns the cause at the end of a chain "doing x: doing y: cause".
func lastClause(message string) string {
	message = strings.TrimSuffix(strings.TrimSpace(message), ": unknown")
	if _, cause, ok := strings.Cut(message, "unable to start container process: "); ok {
		return strings.TrimPrefix(cause, "error during container init: ")
	}
	return message
}

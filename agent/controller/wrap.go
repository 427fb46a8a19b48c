package controller

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

// wrap puts the agent before the user's command: `agent run --` in the launcher, `agent join --` in
// a job without one. A worker of a launcher runs `agent worker`, unless its template has a command,
// which must then do so itself. The launcher gets its settings from MUSTER_* variables, so that
// `agent env` and `agent hosts`, typed in it, use the same ones.
func (b builder) wrap(s slot, spec *corev1.PodSpec) {
	own := s.own(spec)
	setEnv(own, b.podEnv())
	words := slices.Concat(own.Command, own.Args)
	switch {
	case s.launcher():
		setEnv(own, append(b.launcherEnv(), b.trace.Env(b.job, b.attempt)...))
		if len(words) > 0 && !runsAgent(own) {
			own.Command, own.Args = append([]string{names.AgentPath, "run", "--"}, words...), nil
		}
		b.probe(own)
	case b.job.Spec.Launcher != nil:
		setEnv(own, []corev1.EnvVar{{Name: names.EnvJob, Value: b.job.Name}})
		if b.job.Spec.RequireRDMA { // here too, because Open MPI's ranks do not get the launcher's variables
			setEnv(own, []corev1.EnvVar{{Name: "NCCL_DEBUG", Value: "INFO"}})
		}
		if len(own.Command) == 0 {
			own.Command, own.Args = []string{names.AgentPath, "worker"}, nil
		}
	case b.unwrapped(s):
		setEnv(own, b.staticEnv(s))
	default:
		setEnv(own, b.memberEnv())
		if period := spec.TerminationGracePeriodSeconds; period != nil { // a member cannot read its pod
			setEnv(own, []corev1.EnvVar{{Name: settings.Variable("grace"), Value: names.Grace(time.Duration(*period) * time.Second).String()}})
		}
		if len(words) > 0 && !runsAgent(own) {
			own.Command, own.Args = append(b.joinWords(s), words...), nil
		}
		lastLines(own)
	}
}

// lastLines makes the kubelet use the end of a member's log, the last words of the process itself,
// as the termination message. The output does not pass through the agent, so the agent then writes
// no message; its sentence is in the log too.
func lastLines(own *corev1.Container) {
	if own.TerminationMessagePolicy != "" || own.TerminationMessagePath != "" {
		return
	}
	own.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	setEnv(own, []corev1.EnvVar{{Name: "MUSTER_TERMINATION_LOG"}})
}

// runsAgent reports whether the user has written the agent's command, which is then kept:
// completely, or as arguments for the entrypoint of an image that contains the agent.
func runsAgent(c *corev1.Container) bool {
	if len(c.Command) > 0 {
		return path.Base(c.Command[0]) == "agent"
	}
	return c.Args[0] == "run" || c.Args[0] == "join"
}

// unwrapped reports whether only the image knows the command, and does not contain the agent.
func (b builder) unwrapped(s slot) bool {
	own := s.own(&s.template.Spec)
	return own != nil && delivery(b.job) != baked && len(own.Command) == 0
}

// joinWords returns the command line of a member.
func (b builder) joinWords(s slot) []string {
	words := []string{names.AgentPath, "join", fmt.Sprintf("--workers=%d", len(b.workerNames())), fmt.Sprintf("--rank=%d", s.rank)}
	if len(b.workerNames()) > 1 {
		words = append(words, "--coordinator="+b.slots[0].name+"."+b.job.Name)
	}
	for _, s := range b.told(settings.OfJoin) {
		words = append(words, "--"+s.name+"="+s.value)
	}
	return append(words, "--")
}

// setting is one of agent/settings, with its value for a job.
type setting struct{ name, value string }

// told lists the settings for agent run or join that the job sets.
func (b builder) told(verb settings.Verb) (all []setting) {
	values := settings.Values(b.job.Spec)
	delete(values, "workers") // it counts the pods of all roles
	if values["roles"] = roleList(b.job); maxRestarts(b.job) == 0 {
		for _, name := range []string{"restart-on", "restart-policy", "max-restarts-per", "max-no-progress", "progress-file"} {
			delete(values, name)
		}
	}
	for s := range settings.Of(verb) {
		if value := values[s.Name]; value != "" {
			all = append(all, setting{s.Name, value})
		}
	}
	return all
}

// noTimeout makes a launcher or member wait for the others as long as the job may live. The limit
// of the job is activeDeadlineSeconds, which the controller enforces.
const noTimeout = "0s"

// launcherEnv returns the launcher's variables. It leaves out what the job does not set.
func (b builder) launcherEnv() (env []corev1.EnvVar) {
	spec := b.job.Spec
	tell := func(name, value string) { env = append(env, corev1.EnvVar{Name: name, Value: value}) }
	tell(names.EnvJob, b.job.Name)
	tell(settings.Variable("timeout"), noTimeout)
	if spec.Slots == 0 {
		tell(names.EnvSlots, "1")
	}
	if spec.Elastic == nil {
		tell(names.EnvWorkers, strconv.Itoa(len(b.workerNames())-int(spec.Spares)))
	}
	for _, s := range b.told(settings.OfRun) {
		tell(settings.Variable(s.name), s.value)
	}
	if spec.Discovery == children.ByNames {
		tell(names.EnvPods, strings.Join(b.workerNames(), ","))
	}
	return slices.DeleteFunc(env, func(v corev1.EnvVar) bool { return v.Value == "" })
}

// podEnv returns the variables of every pod about itself.
func (b builder) podEnv() []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	return []corev1.EnvVar{field(names.EnvPodName, "metadata.name"), field(names.EnvNamespace, "metadata.namespace"), field(names.EnvPodUID, "metadata.uid"), field(names.EnvPodIP, "status.podIP")}
}

// memberEnv returns what a member needs besides its command line: the token.
func (b builder) memberEnv() []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: names.EnvJob, Value: b.job.Name}, {Name: settings.Variable("timeout"), Value: noTimeout}}
	if b.shares() && b.job.Spec.Launcher == nil {
		env = append(env, children.TokenEnv(b.job.Status.TokenSecret))
	}
	return env
}

// staticPort is the port of rank 0 in a job whose command comes from the image.
const staticPort = 23456

// staticEnv returns the environment of a pod that the agent does not start: names in place of
// addresses, and one process in each pod. refuse has checked that it can be made.
func (b builder) staticEnv(s slot) []corev1.EnvVar {
	launch, err := b.staticLaunch()
	if err != nil {
		return nil
	}
	var env []corev1.EnvVar
	for _, v := range launch.Processes[s.rank].Env {
		if strings.Contains(v.Value, framework.FilesDir) {
			continue // no files are written there
		}
		env = append(env, corev1.EnvVar{Name: v.Name, Value: v.Value})
	}
	return env
}

// staticLaunch asks the framework for the environment of ranks that are known before any pod
// exists.
func (b builder) staticLaunch() (framework.Launch, error) {
	name := b.job.Spec.Framework
	if name == "" || name == framework.Auto {
		name = "plain"
	}
	f, err := framework.Chosen(name, b.job.Spec.Compat)
	if err != nil {
		return framework.Launch{}, err
	}
	c := framework.Cluster{Job: b.job.Name, Namespace: b.job.Namespace, RunDir: "/tmp", Port: staticPort, Command: []string{"the image's own"}}
	for _, s := range b.slots {
		host := s.name + "." + b.job.Name
		n := framework.Node{Name: s.name, Host: host, IP: host, Slots: 1, Index: s.rank}
		if roleList(b.job) != "" {
			n.Role, n.RoleIndex = s.role, s.index
		}
		c.Workers = append(c.Workers, n)
	}
	launch, err := f.Prepare(c)
	if err == nil && len(launch.Processes) != len(b.slots) {
		err = fmt.Errorf("%s starts its own processes", name)
	}
	return launch, err
}

// setEnv adds variables that the user has not set.
func setEnv(c *corev1.Container, env []corev1.EnvVar) {
	for _, v := range env {
		if !slices.ContainsFunc(c.Env, func(have corev1.EnvVar) bool { return have.Name == v.Name }) {
			c.Env = append(c.Env, v)
		}
	}
}

package kubeflow

import (
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/musterhq/muster/agent/lazyregexp"
	"github.com/musterhq/muster/exec/names"
)

// sshd and idling match worker commands that keep a pod alive for mpirun. waiting looks at the rest
// of the command.
var (
	sshd   = lazyregexp.New(`(^|[\s/;&|("'])sshd($|[\s;&|)"'])`)
	idling = lazyregexp.New(`(^|[\s/;&|("'])(sleep\s+\S+|tail\s+-f\s+/dev/null)[\s;)"']*$`)
	sshOn  = lazyregexp.New(`(?:-p\s*|-o\s*Port[= ])(\d+)`)
)

// work makes the worker's pods run agent worker, which the LaunchJob's controller adds to a
// template without a command. A command that waits for mpirun over ssh, or sleeps, is removed, but
// its preparations still run first. A worker with any other command could not be reached, so it is
// an error.
func work(t *corev1.PodTemplateSpec, name string, in reader) {
	o, i := own(t, name)
	at := container(in, i)
	words := slices.Concat(o.Command, o.Args)
	line := strings.Join(words, " ")
	field := at.at("command")
	if len(o.Command) == 0 {
		field = at.at("args")
	}
	overSSH := sshd().MatchString(line)
	if len(words) == 0 {
		unprobe(o, at, false, "")
		return
	}
	if path.Base(words[0]) == "agent" || strings.Contains(line, names.AgentPath+" worker") {
		return
	}
	before, ok := waiting(words)
	switch {
	case ok && overSSH && before == nil:
		field.warn("", "%q is replaced by agent worker: there is no ssh", line)
	case ok && overSSH:
		field.warn("", "sshd is replaced by agent worker: there is no ssh; what precedes it still runs")
	case ok && before == nil:
		field.warn("", "%q is replaced by agent worker, which keeps the pod for mpirun", line)
	case ok:
		field.warn("", "the wait at the end is replaced by agent worker, which keeps the pod for mpirun; what precedes it still runs")
	case len(o.Command) == 0 && !overSSH:
		field.warn("", "%q is replaced by agent worker: mpirun's processes come from the launcher", line)
	default:
		field.fatal("remove it; move its preparation into an init container, or end it with: exec "+names.AgentPath+" worker",
			"a worker must run agent worker: mpirun cannot reach a worker that runs %s", short(line))
	}
	if len(o.Command) == 0 && before != nil {
		field.warn("", "it runs without the image's ENTRYPOINT, which is unknown")
	}
	o.Command, o.Args = before, nil
	unprobe(o, at, overSSH, sshPort(line))
}

// sshPort returns the port of that sshd, or 0 if only the image's own configuration has it.
func sshPort(line string) string {
	if found := sshOn().FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// unprobe removes the probes of sshd.
func unprobe(o *corev1.Container, at reader, overSSH bool, port string) {
	for _, p := range []struct {
		name  string
		probe **corev1.Probe
	}{{"readinessProbe", &o.ReadinessProbe}, {"livenessProbe", &o.LivenessProbe}, {"startupProbe", &o.StartupProbe}} {
		if *p.probe != nil && asksSSH(**p.probe, o.Ports, overSSH, port) {
			at.at(p.name).warn("", "removed, because it checks sshd, which does not run; agent worker reports readiness itself")
			*p.probe = nil
		}
	}
}

func asksSSH(p corev1.Probe, ports []corev1.ContainerPort, overSSH bool, port string) bool {
	if p.Exec != nil {
		return sshd().MatchString(strings.Join(p.Exec.Command, " "))
	}
	if p.TCPSocket == nil {
		return false
	}
	asked := number(p.TCPSocket.Port, ports)
	return asked == "22" || asked == "2222" || overSSH && (port == "" || asked == port)
}

// number returns a port as digits. A named port has the number in the container.
func number(port intstr.IntOrString, ports []corev1.ContainerPort) string {
	for _, p := range ports {
		if port.Type == intstr.String && p.Name == port.StrVal {
			return strconv.Itoa(int(p.ContainerPort))
		}
	}
	return port.String()
}

package failure

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/settings"
)

// ours is the prefix of Muster's variables.
const ours = "MUSTER_"

// UnknownVariable returns a failure for the first unknown variable of environ that begins with
// MUSTER_, or nil. Without it, a typing error in the name of a flag's variable would have no
// effect. command, as in "agent run", is for the hint. Empty variables count as unset.
func UnknownVariable(command string, environ, known []string) error {
	for _, kv := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || !strings.HasPrefix(name, ours) || slices.Contains(known, name) || IsServiceLink(environ, name, value) {
			continue
		}
		way := "unset it, or rename it if it is your own; " + command + " --help lists the flags"
		if like := meant(name, known); like != "" {
			way = "did you mean " + like + "? " + way
		}
		return Usage(way, "unknown variable %s for %s", name, command)
	}
	return nil
}

// meant returns the known variable that name was meant for, or "". It recognizes the names that
// other launchers use for a flag.
func meant(name string, known []string) string {
	var flags []string
	for _, k := range known {
		flags = append(flags, flagOf(k))
	}
	if like := Flag(flagOf(name), flags); like != "" {
		return settings.Variable(like)
	}
	return ""
}

// flagOf returns the flag of a variable: log-level for MUSTER_LOG_LEVEL.
func flagOf(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, ours)), "_", "-")
}

// IsServiceLink reports whether the kubelet has set the variable for a Service of the namespace.
// For example, a Service "muster" puts MUSTER_PORT=tcp://10.96.0.7:80 into every pod.
func IsServiceLink(environ []string, name, value string) bool {
	for _, kv := range environ {
		other, _, _ := strings.Cut(kv, "=")
		service, ok := strings.CutSuffix(other, "_SERVICE_HOST")
		if !ok {
			continue
		}
		rest, ok := strings.CutPrefix(name, service)
		switch {
		case !ok:
		case rest == "_SERVICE_HOST", rest == "_SERVICE_PORT", strings.HasPrefix(rest, "_SERVICE_PORT_"), strings.HasPrefix(rest, "_PORT_"):
			return true
		case rest == "_PORT" && strings.Contains(value, "://"):
			return true
		}
	}
	return false
}

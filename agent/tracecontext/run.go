package tracecontext

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Run is the place of one run in a trace.
type Run struct {
	Parent Context // of the program that started the launcher; not valid: none
	Root   Context // of the run's own span; not valid: nothing is traced
}

// On reports whether the variables of OpenTelemetry ask for traces: an endpoint or an exporter is
// set, and neither the SDK nor the exporter is turned off.
func On(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch getenv("OTEL_TRACES_EXPORTER") {
	case "none":
		return false
	case "":
		return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	}
	return true
}

// Start returns the place of a run that begins. An error means that TRACEPARENT is bad; the run then
// has no parent. getenv returns the value of a variable, or "".
func Start(getenv func(string) string) (r Run, err error) {
	if propagates(getenv) && getenv(EnvParent) != "" {
		if r.Parent, err = Parse(getenv(EnvParent), getenv(EnvState)); err != nil {
			err = fmt.Errorf("TRACEPARENT=%.80q is ignored: %w", getenv(EnvParent), err)
		}
	}
	if !On(getenv) {
		return r, err
	}
	r.Root.Trace, r.Root.State = r.Parent.Trace, r.Parent.State
	if !r.Parent.Valid() {
		_, _ = rand.Read(r.Root.Trace[:]) // it never fails
	}
	_, _ = rand.Read(r.Root.Span[:])
	if isSampled(getenv, r.Root.Trace, r.Parent) {
		r.Root.Flags = sampled
	}
	return r, err
}

// propagates reports whether OTEL_PROPAGATORS has W3C Trace Context. By default it does.
func propagates(getenv func(string) string) bool {
	list := getenv("OTEL_PROPAGATORS")
	return list == "" || slices.ContainsFunc(strings.Split(list, ","), func(one string) bool { return strings.TrimSpace(one) == "tracecontext" })
}

// Handed is Start for a program that a launcher has started with the variables of Exporter.
func Handed(getenv func(string) string) (r Run, err error) {
	if r.Root, err = Parse(getenv(names.EnvTraceParent), getenv(EnvState)); err != nil {
		return Start(getenv)
	}
	if r.Parent, err = Parse(getenv(EnvParent), getenv(EnvState)); err != nil || r.Parent.Trace != r.Root.Trace {
		r.Parent = Context{}
	}
	return r, nil
}

// Exporter returns environ with the variables by which Handed finds r in a program that exports the
// run's spans.
func (r Run) Exporter(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == EnvParent || name == EnvState || name == names.EnvTraceParent
	})
	env = append(env, r.Parent.Environ()...)
	if r.Root.Valid() {
		env = append(env, names.EnvTraceParent+"="+r.Root.String())
	}
	return env
}

// Attempt returns the context that the processes of an attempt get. Without traces it is that of the
// parent, which is passed on.
func (r Run) Attempt(number int) Context {
	if !r.Root.Valid() {
		return r.Parent
	}
	return r.Root.Child("attempt " + strconv.Itoa(number))
}

package tracecontext

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Variables that carry a Context to a process.
const (
	EnvParent = "TRACEPARENT"
	EnvState  = "TRACESTATE"
)

// sampled is the flag of a trace that is recorded.
const sampled = 1

// mostState is the length of the longest TRACESTATE in bytes that is passed on. W3C wants at least
// this.
const mostState = 512

// Context is the place of a span in a trace. The zero value is no place.
type Context struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte
	State string // TRACESTATE, which is passed on unchanged
}

// Valid reports whether c is a place in a trace.
func (c Context) Valid() bool { return c.Trace != [16]byte{} && c.Span != [8]byte{} }

// Sampled reports whether the trace is recorded.
func (c Context) Sampled() bool { return c.Flags&sampled != 0 }

// String returns the value of TRACEPARENT.
func (c Context) String() string { return fmt.Sprintf("00-%x-%x-%02x", c.Trace, c.Span, c.Flags) }

// Child returns the context of the span with this name below c. The same name gives the same span.
func (c Context) Child(name string) Context {
	if !c.Valid() {
		return Context{}
	}
	sum := sha256.Sum256([]byte(c.String()[3:52] + " " + name)) // flags do not count
	child := c
	copy(child.Span[:], sum[:])
	return child
}

// Environ returns the variables that hand c to a process, K=V each, or none.
func (c Context) Environ() []string {
	if !c.Valid() {
		return nil
	}
	env := []string{EnvParent + "=" + c.String()}
	if c.State != "" {
		env = append(env, EnvState+"="+c.State)
	}
	return env
}

// Parse returns the context of these values of TRACEPARENT and TRACESTATE. Versions after 00 are
// read as far as they agree with 00. A bad TRACESTATE is left out, as W3C wants.
func Parse(parent, state string) (Context, error) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 {
		return Context{}, errors.New("want VERSION-TRACE-SPAN-FLAGS")
	}
	var version, flags [1]byte
	var c Context
	for i, to := range [][]byte{version[:], c.Trace[:], c.Span[:], flags[:]} {
		if !digits(parts[i], to) {
			return Context{}, fmt.Errorf("part %d is not %d lower-case hexadecimal digits", i+1, 2*len(to))
		}
	}
	switch {
	case version[0] == 0xff:
		return Context{}, errors.New("version ff does not exist")
	case version[0] == 0 && len(parts) > 4:
		return Context{}, fmt.Errorf("version 00 has 4 parts, not %d", len(parts))
	case !c.Valid():
		return Context{}, errors.New("trace and span must not be zero")
	}
	c.Flags = flags[0] & sampled // others are not passed on
	if isState(state) {
		c.State = state
	}
	return c, nil
}

// digits decodes lower-case hexadecimal digits, which must fill to.
func digits(text string, to []byte) bool {
	if len(text) != 2*len(to) || strings.ToLower(text) != text {
		return false
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// isState reports whether text may be a TRACESTATE: entries of printable characters, KEY=VALUE each.
func isState(text string) bool {
	if text == "" || len(text) > mostState || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	for entry := range strings.SplitSeq(text, ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(entry), "="); !ok || key == "" || value == "" {
			return false
		}
	}
	return true
}

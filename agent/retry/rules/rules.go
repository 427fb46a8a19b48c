package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
)

// Rule is one rule, as given by the user.
type Rule struct {
	ExitCodes []int        // of the attempt
	Signals   []string     // that ended the process which failed first: KILL or SIGKILL
	Causes    []string     // see Causes
	Output    string       // a regular expression for one of the last lines of that process
	Container string       // in which that process ran
	Action    retry.Action // what to do
}

// MaxRules is the largest number of rules of a job.
const MaxRules = 16

// Causes, in the order of the documentation.
const (
	causeOOM       = "oom"       // the kernel killed a process for its memory
	causeLost      = "lost"      // a worker was lost
	causeInfra     = "infra"     // a process could not be started or observed, through no fault of the program
	causePreflight = "preflight" // a check before the start failed
	causeDevice    = "device"    // a device of the worker is broken
	causeHang      = "hang"      // the run made no progress and was stopped
	causeStall     = "stall"     // the run broke a progress rule and was stopped
	causeDrain     = "drain"     // a worker was told to stop from outside
)

// Causes lists the causes that a rule may name.
func Causes() []string {
	return []string{causeOOM, causeLost, causeInfra, causePreflight, causeDevice, causeHang, causeStall, causeDrain}
}

// RuleError reports a rule that cannot be used.
type RuleError struct {
	Err error  // what is wrong
	Way string // what to write instead
}

func (e *RuleError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RuleError) Unwrap() error { return e.Err }

// Hint says what to write instead.
func (e *RuleError) Hint() string { return e.Way }

func wrong(way, format string, args ...any) *RuleError {
	return &RuleError{fmt.Errorf(format, args...), way}
}

// compiled is a rule that is ready for use.
type compiled struct {
	Rule
	signals []int
	output  *regexp.Regexp // nil: any output
}

// Set is a list of rules that are ready for use. The zero Set has none.
type Set struct{ rules []compiled }

// Compile returns a Set of rules. Errors are *RuleError.
func Compile(list []Rule) (*Set, error) {
	if len(list) > MaxRules {
		return nil, wrong("one rule may have several exit codes, signals and causes", "--restart-policy has too many rules: %d, at most %d", len(list), MaxRules)
	}
	s := &Set{}
	for i, r := range list {
		c, err := r.compile()
		if err != nil {
			err.Err = fmt.Errorf("--restart-policy, rule %d: %w", i, err.Err)
			return nil, err
		}
		s.rules = append(s.rules, c)
	}
	return s, nil
}

func (r Rule) compile() (c compiled, bad *RuleError) {
	c.Rule = r
	c.Signals = nil
	for _, code := range r.ExitCodes {
		if code < 1 || code > 255 {
			return c, wrong(example, "%d is not an exit code of a failure: want 1 to 255", code)
		}
	}
	for _, name := range r.Signals {
		n, known := signals[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
		if !known {
			return c, wrong(`a signal is written as KILL or SIGKILL`, "%q is not a signal", name)
		}
		c.Signals, c.signals = append(c.Signals, strings.ToUpper(name)), append(c.signals, n)
	}
	for _, cause := range r.Causes {
		if !slices.Contains(Causes(), cause) {
			return c, wrong("want "+strings.Join(Causes(), ", "), "%q is not a cause", cause)
		}
	}
	if r.Output != "" {
		var err error
		if c.output, err = regexp.Compile(r.Output); err != nil {
			return c, wrong(`brackets that are text take a backslash, as in '\[rank 0\]'; syntax: https://pkg.go.dev/regexp/syntax`, "output is not a regular expression: %w", err)
		}
	}
	if r.Action == "" {
		return c, wrong("want "+actions(), "the rule has no action")
	}
	action, known := retry.ParseAction(string(r.Action))
	if !known {
		return c, wrong("want "+actions(), "%q is not an action", r.Action)
	}
	c.Action = action
	return c, nil
}

func actions() string {
	var all []string
	for _, a := range retry.Actions() {
		all = append(all, string(a))
	}
	return strings.Join(all, ", ")
}

// List returns the rules with their signals and actions spelled as in a LaunchJob.
func (s *Set) List() (list []Rule) {
	for _, c := range s.rules {
		list = append(list, c.Rule)
	}
	return list
}

// AsksOutput reports whether a rule has a condition that depends on output.
func (s *Set) AsksOutput() bool {
	return slices.ContainsFunc(s.rules, func(c compiled) bool { return c.output != nil || slices.Contains(c.Causes, causeDevice) })
}

// Choose implements retry.Chooser.
func (s *Set) Choose(e retry.End) (a retry.Action, rule string, ok bool) {
	for i, c := range s.rules {
		if c.matches(e) {
			return c.Action, fmt.Sprintf("rule %d", i), true
		}
	}
	return "", "", false
}

func (c compiled) matches(e retry.End) bool {
	if e.Preempted && c.hasCondition() && !slices.Contains(c.Causes, causeDrain) {
		return false
	}
	return (len(c.ExitCodes) == 0 || slices.Contains(c.ExitCodes, e.Code)) &&
		(len(c.signals) == 0 || slices.Contains(c.signals, signalOf(e))) &&
		(len(c.Causes) == 0 || slices.ContainsFunc(c.Causes, func(cause string) bool { return causedBy(e, cause) })) &&
		(c.output == nil || slices.ContainsFunc(e.Output, c.output.MatchString)) &&
		(c.Container == "" || c.Container == e.Container)
}

func (c compiled) hasCondition() bool {
	return len(c.ExitCodes)+len(c.signals)+len(c.Causes) > 0 || c.output != nil || c.Container != ""
}

// causedBy reports whether a cause is one of those of an end.
func causedBy(e retry.End, cause string) bool {
	switch cause {
	case causeOOM:
		return e.OOM
	case causeLost:
		return e.Lost
	case causeInfra:
		return e.Infra && !e.Lost
	case causePreflight:
		return e.Preflight
	case causeDevice:
		return e.Device
	case causeHang:
		return e.Code == names.ExitHung && !e.Stalled
	case causeStall:
		return e.Stalled
	case causeDrain:
		return e.Preempted
	}
	return false
}

// lastSignal is the largest number of a signal.
const lastSignal = 64

// signalOf returns the signal of an end. A shell or an mpirun reports it as an exit code.
func signalOf(e retry.End) int {
	if n := e.Code - 128; e.Signal == 0 && n >= 1 && n <= lastSignal {
		return n
	}
	return e.Signal
}

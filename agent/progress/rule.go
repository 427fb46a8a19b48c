package progress

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
)

// Rule is one rule, as given by the user. Either Expect or FailOn is set.
type Rule struct {
	Expect      string        // lines must match this regular expression
	Within      time.Duration // between two lines that count; 0: only the first one must come
	FirstWithin time.Duration // from the start to the first line; 0: Within
	ByRank      bool          // each rank must satisfy it, not the job as a whole
	FailOn      string        // no line may match this regular expression
	Stop        bool          // stop the job when the rule fires
}

// Least is the shortest time in a rule.
const Least = time.Second

// MaxRules is the largest number of rules of a job.
const MaxRules = 16

// Name returns the name of the rule in messages.
func (r Rule) Name() string {
	if r.FailOn != "" {
		return "fail-on " + quoted(r.FailOn)
	}
	return "expect " + quoted(r.Expect)
}

func quoted(pattern string) string { return "'" + visible(pattern, 120) + "'" }

// first returns how long the first line may take.
func (r Rule) first() time.Duration {
	if r.FirstWithin > 0 {
		return r.FirstWithin
	}
	return r.Within
}

// RuleError reports a rule that cannot be used.
type RuleError struct {
	Err error  // what is wrong, with the name of the flag or field
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
	re     *regexp.Regexp
	lit    literals
	number []byte  // see numberAfter
	time   int     // index of the group that captures a step time; 0: none
	unit   float64 // of it, in seconds
	total  int     // index of the group that captures the last step; 0: none
	apart  []int   // indices of the groups that need not grow
}

// counts returns how many numbers the rule captures that must grow.
func (c *compiled) counts() int { return c.re.NumSubexp() - len(c.apart) }

// find reports whether line matches, and returns the captures of an expect rule. match is reused as
// memory.
func (c *compiled) find(line []byte, match []int) ([]int, bool) {
	switch {
	case !c.lit.in(line):
		return nil, false
	case c.re.NumSubexp() == 0 || c.FailOn != "":
		return nil, c.re.Match(line)
	case c.number != nil:
		match = findNumber(line, c.number, match)
	default:
		match = c.re.FindSubmatchIndex(line)
	}
	return match, match != nil
}

// Set is a list of rules that are ready for use.
type Set struct{ rules []compiled }

// Compile returns a Set of rules. Errors are *RuleError and name the flags of the command line.
func Compile(rules []Rule) (*Set, error) {
	if len(rules) > MaxRules {
		return nil, wrong("join expressions with |, as in --fail-on='nan|out of memory'", "too many progress rules: %d, at most %d", len(rules), MaxRules)
	}
	s := &Set{}
	for _, r := range rules {
		if err := r.judge(); err != nil {
			return nil, err
		}
		flag, pattern := "expect", r.Expect
		if r.FailOn != "" {
			flag, pattern = "fail-on", r.FailOn
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, wrong(`brackets that are text take a backslash, as in 'step \((\d+)\)'; syntax: https://pkg.go.dev/regexp/syntax`,
				"--%s=%s is not a regular expression: %s", flag, quoted(pattern), cause(err))
		}
		if re.MatchString("") {
			return nil, wrong(`as in --`+flag+`='step (\d+)'`, "--%s=%s matches every line, even an empty one", flag, quoted(pattern))
		}
		c := compiled{Rule: r, re: re, lit: literalsOf(pattern), number: numberAfter(pattern), unit: 1, total: max(0, re.SubexpIndex(GroupTotal))}
		if c.time = max(0, re.SubexpIndex(GroupSeconds)); c.time == 0 {
			c.time, c.unit = max(0, re.SubexpIndex(GroupMilliseconds)), 1e-3
		}
		for _, group := range []int{c.time, c.total} {
			if group > 0 {
				c.apart = append(c.apart, group)
			}
		}
		s.rules = append(s.rules, c)
	}
	return s, nil
}

// cause returns the parser's error without the repeated expression.
func cause(err error) string {
	var e *syntax.Error
	if errors.As(err, &e) {
		return e.Code.String() + " " + quoted(e.Expr)
	}
	return err.Error()
}

// judge checks the fields of a rule against each other.
func (r Rule) judge() error {
	times := func(flag string, d time.Duration) error {
		switch {
		case d < 0:
			return wrong("write a time as 90s, 10m or 1h", "--%s=%s must not be negative", flag, d)
		case d > 0 && d < Least:
			return wrong("use minutes, as in --"+flag+"=10m", "--%s=%s is too short: want at least %s", flag, d, Least)
		}
		return nil
	}
	switch {
	case r.Expect != "" && r.FailOn != "":
		return wrong("put them into two rules", "a progress rule has both --expect=%s and --fail-on=%s", quoted(r.Expect), quoted(r.FailOn))
	case r.Expect == "" && r.FailOn == "":
		return wrong(`--expect='step (\d+)' --within=10m, or --fail-on='loss.*nan'`, "a progress rule has neither --expect nor --fail-on")
	case r.FailOn != "" && (r.Within != 0 || r.FirstWithin != 0 || r.ByRank):
		return wrong("omit the times: --fail-on fires at once", "--fail-on=%s cannot have --within, --first-within or --expect-by", quoted(r.FailOn))
	case r.Expect != "" && r.Within == 0 && r.FirstWithin == 0:
		return wrong("--expect="+quoted(r.Expect)+" --within=10m", "--expect=%s needs --within", quoted(r.Expect))
	}
	if err := times("within", r.Within); err != nil {
		return err
	}
	return times("first-within", r.FirstWithin)
}

// visible shortens a text to most bytes and makes it fit for one line of a message.
func visible(text string, most int) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case c < ' ', c == 0x7f, c >= 0x80 && c < 0xa0:
			return '?'
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most] + "..."
}

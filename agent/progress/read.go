package progress

import (
	"bytes"
	"encoding/json"
	"time"
)

// Word is one flag of a rule, as typed: {"expect", `step (\d+)`}.
type Word struct{ Flag, Value string }

// Flags that define rules. Each flag that does not start a rule belongs to the rule before it.
const (
	FlagExpect = "expect"          // starts a rule
	FlagFailOn = "fail-on"         // starts a rule
	FlagWithin = "within"          // of the --expect before it
	FlagFirst  = "first-within"    // of the --expect before it
	FlagBy     = "expect-by"       // of the --expect before it: job or rank
	FlagAction = "progress-action" // of the rule before it: report or stop
	FlagList   = "progress"        // rules as a JSON list
)

// Read combines the flags of a command line into rules, in the order in which they were typed.
// Errors are *RuleError.
func Read(words []Word) (rules []Rule, err error) {
	for _, w := range words {
		switch w.Flag {
		case FlagExpect, FlagFailOn:
			if w.Value == "" {
				return nil, wrong(`as in --`+w.Flag+`='step (\d+)'`, "--%s is empty", w.Flag)
			}
			r := Rule{Expect: w.Value}
			if w.Flag == FlagFailOn {
				r = Rule{FailOn: w.Value, Stop: true}
			}
			rules = append(rules, r)
		case FlagList:
			more, err := List([]byte(w.Value))
			if err != nil {
				return nil, err
			}
			rules = append(rules, more...)
		default:
			if err := add(rules, w); err != nil {
				return nil, err
			}
		}
	}
	_, err = Compile(rules)
	return rules, err
}

// add applies a flag to the last rule.
func add(rules []Rule, w Word) error {
	if len(rules) == 0 || w.Flag != FlagAction && rules[len(rules)-1].Expect == "" {
		owner := "an --expect"
		if w.Flag == FlagAction {
			owner = "an --expect or --fail-on"
		}
		return wrong(`--expect='step (\d+)' --`+w.Flag+`=`+w.Value, "--%s=%s needs %s before it", w.Flag, w.Value, owner)
	}
	r := &rules[len(rules)-1]
	switch w.Flag {
	case FlagWithin, FlagFirst:
		d, err := time.ParseDuration(w.Value)
		if err != nil {
			return wrong("--"+w.Flag+"=10m", "--%s=%q: want a time, as in 90s, 10m or 1h", w.Flag, w.Value)
		}
		if w.Flag == FlagWithin {
			r.Within = d
		} else {
			r.FirstWithin = d
		}
	case FlagBy:
		return r.by("--"+w.Flag, w.Value)
	case FlagAction:
		return r.act("--"+w.Flag, w.Value)
	}
	return nil
}

func (r *Rule) by(field, value string) error {
	if value != "job" && value != "rank" {
		return wrong("want job or rank", "%s=%s: unknown value", field, value)
	}
	r.ByRank = value == "rank"
	return nil
}

func (r *Rule) act(field, value string) error {
	if value != "report" && value != "stop" {
		return wrong("want report or stop; --progress-action=stop --max-restarts=3 --restart-on=+stall restarts", "%s=%s: unknown value", field, value)
	}
	r.Stop = value == "stop"
	return nil
}

// written is a rule in a JSON list, as in a LaunchJob.
type written struct {
	Expect      string `json:"expect"`
	Within      string `json:"within"`
	FirstWithin string `json:"firstWithin"`
	By          string `json:"by"`
	FailOn      string `json:"failOn"`
	Action      string `json:"action"`
}

// List reads rules from a JSON list: [{"expect": "step (\\d+)", "within": "10m"}]. Its fields are
// those of LaunchJob's spec.progress. Errors are *RuleError.
func List(text []byte) ([]Rule, error) {
	const example = `as in --progress='[{"expect":"step (\\d+)","within":"10m"},{"failOn":"loss.*nan"}]'`
	var list []written
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, wrong(example, "--progress is not a list of rules: %w", err)
	}
	if d.More() {
		return nil, wrong(example, "--progress has text after its list of rules")
	}
	var rules []Rule
	for i, one := range list {
		r, err := one.rule()
		if err != nil {
			return nil, wrong(example, "--progress, rule %d: %w", i, err)
		}
		rules = append(rules, r)
	}
	if _, err := Compile(rules); err != nil {
		return nil, err
	}
	return rules, nil
}

func (w written) rule() (r Rule, err error) {
	r = Rule{Expect: w.Expect, FailOn: w.FailOn, Stop: w.FailOn != ""}
	for _, t := range []struct {
		field, text string
		to          *time.Duration
	}{{"within", w.Within, &r.Within}, {"firstWithin", w.FirstWithin, &r.FirstWithin}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = time.ParseDuration(t.text); err != nil {
			return r, wrong("", "%s=%q: want a time, as in 90s, 10m or 1h", t.field, t.text)
		}
	}
	if w.By != "" {
		if err := r.by("by", w.By); err != nil {
			return r, err
		}
	}
	if w.Action != "" {
		return r, r.act("action", w.Action)
	}
	return r, nil
}

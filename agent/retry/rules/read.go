package rules

import (
	"bytes"
	"encoding/json"

	"github.com/musterhq/muster/agent/retry"
)

const example = `as in --restart-policy='[{"causes":["oom"],"action":"fail"},{"exitCodes":[42],"action":"ignore"}]'`

// written is a rule in a JSON list, as in a LaunchJob.
type written struct {
	ExitCodes []int    `json:"exitCodes"`
	Signals   []string `json:"signals"`
	Causes    []string `json:"causes"`
	Output    string   `json:"output"`
	Container string   `json:"container"`
	Action    string   `json:"action"`
}

// List reads rules from a JSON list: [{"exitCodes": [42], "action": "ignore"}]. Its fields are those
// of LaunchJob's spec.restartPolicy.rules. An empty text has no rules. Errors are *RuleError.
func List(text []byte) (*Set, error) {
	if len(text) == 0 {
		return &Set{}, nil
	}
	var list []written
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, wrong(example, "--restart-policy is not a list of rules: %w", err)
	}
	if d.More() {
		return nil, wrong(example, "--restart-policy has text after its list of rules")
	}
	if len(list) == 0 {
		return nil, wrong(example, "--restart-policy has no rule")
	}
	var rules []Rule
	for _, w := range list {
		rules = append(rules, Rule{ExitCodes: w.ExitCodes, Signals: w.Signals, Causes: w.Causes, Output: w.Output, Container: w.Container, Action: retry.Action(w.Action)})
	}
	return Compile(rules)
}

// signals are the signals of Linux by name. A job runs on Linux, but submit runs anywhere.
var signals = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13,
	"ALRM": 14, "TERM": 15, "STKFLT": 16, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24, "XFSZ": 25,
	"VTALRM": 26, "PROF": 27, "WINCH": 28, "IO": 29, "PWR": 30, "SYS": 31,
}

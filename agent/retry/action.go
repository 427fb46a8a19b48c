package retry

import "strings"

// Action is what follows the end of an attempt. Its values are spelled as in a LaunchJob.
type Action string

// The actions of a rule.
const (
	Restart       Action = "Restart"       // in place, with the same workers
	ReplaceWorker Action = "ReplaceWorker" // in place, with another pod for the worker where the failure began
	RestartPods   Action = "RestartPods"   // with other pods for all workers
	Fail          Action = "Fail"          // no restart
	Ignore        Action = "Ignore"        // like Restart, but it uses up no restart
)

// Actions lists all actions, in the order of the documentation.
func Actions() []Action { return []Action{Restart, ReplaceWorker, RestartPods, Fail, Ignore} }

// ParseAction reads an action in any case, with or without dashes: ReplaceWorker, replace-worker.
func ParseAction(text string) (Action, bool) {
	plain := strings.ReplaceAll(text, "-", "")
	for _, a := range Actions() {
		if strings.EqualFold(plain, string(a)) {
			return a, true
		}
	}
	return "", false
}

// Chooser chooses the action for an end by the rules of the user. Package rules implements it.
type Chooser interface {
	// Choose returns the action of the first rule that matches, and what to call that rule in a
	// message. It returns false if no rule matches.
	Choose(e End) (a Action, rule string, ok bool)
}

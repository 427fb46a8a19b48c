package config

import (
	"strings"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// The values of --hang-action.
const (
	hangReport = "report"
	HangStop   = "stop"
)

// The values of --stacks.
const (
	stacksAuto  = "auto"
	StacksNever = "never"
)

// validateHang checks --hang-after, --hang-action, --exit-within, --stacks and --straggler-after.
func (c Config) validateHang() error {
	if err := failure.OneOf("--hang-action", c.HangAction, "", hangReport, HangStop); err != nil {
		return err
	}
	if err := failure.OneOf("--stacks", c.Stacks, "", stacksAuto, StacksNever); err != nil {
		return err
	}
	switch {
	case c.HangAfter < 0:
		return failure.Usage("a time is written as 90s, 10m or 1h", "--hang-after=%s must not be negative", c.HangAfter)
	case c.HangAfter > 0 && c.HangAfter < leastHang:
		return failure.Usage("minutes are usual, as in --hang-after=10m", "--hang-after=%s: the shortest is %s", c.HangAfter, leastHang)
	case c.HangAfter == 0 && strings.HasPrefix(c.Origin["hang-action"], "flag"):
		return failure.Usage("--hang-after=10m detects hangs", "--hang-action=%s has no effect, because --hang-after=0 turns off hang detection", c.HangAction)
	case c.HangAction == HangStop && !c.Given("hang-after") && strings.HasPrefix(c.Origin["hang-action"], "flag"):
		return failure.Usage("--hang-after=10m sets when a run hangs", "--hang-action=%s needs --hang-after: the default of %s only reports", c.HangAction, phrase.Brief(c.HangAfter))
	case c.ExitWithin < 0:
		return failure.Usage("a time is written as 90s, 10m or 1h", "--exit-within=%s must not be negative", c.ExitWithin)
	case c.StragglerAfter != 0 && c.StragglerAfter < leastStraggler:
		return failure.Usage("minutes are usual, as in --straggler-after=2m; 0 turns it off", "--straggler-after=%s: the shortest is %s", c.StragglerAfter, leastStraggler)
	}
	return nil
}

// HangStops reports whether a hang ends the run. A hang by the default time never does, although that time is longer
// than most steps that print nothing.
func (c Config) HangStops() bool { return c.HangAction == HangStop && c.Given("hang-after") }

// AskStacks returns the command that asks for stacks from anywhere.
func (c Config) AskStacks() string {
	if c.Job != "" && !c.IsFake() {
		return "agent stacks " + c.Job
	}
	return "agent stacks"
}

// leastStraggler is long enough to compare ranks on a busy machine.
const leastStraggler = 2 * time.Second

// leastHang leaves time for several scans of /proc.
const leastHang = time.Second

package main

import (
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/progress"
)

// ruleFlag is one of the flags that make progress rules. Their order on the command
// line counts, so all of them fill one list.
type ruleFlag struct {
	name  string
	words *[]progress.Word
}

// String implements pflag.Value: there are no defaults.
func (f ruleFlag) String() string { return "" }

// Set implements pflag.Value.
func (f ruleFlag) Set(value string) error {
	*f.words = append(*f.words, progress.Word{Flag: f.name, Value: value})
	return nil
}

// Type implements pflag.Value.
func (f ruleFlag) Type() string { return "string" }

// ruleFlags adds the flags that make progress rules.
func ruleFlags(set *pflag.FlagSet, words *[]progress.Word) {
	for _, f := range []struct{ name, usage string }{
		{progress.FlagExpect, "lines that match `REGEXP` must keep coming, and a number that it captures must grow, as in 'step (\\d+)'; may be given again"},
		{progress.FlagWithin, "`TIME` between such lines, for the --expect before it"},
		{progress.FlagFirst, "`TIME` until the first one, for the --expect before it (default: --within)"},
		{progress.FlagBy, "`WHO` prints them, for the --expect before it: job (any rank, the default), or rank (each one)"},
		{progress.FlagFailOn, "no line may match `REGEXP`, as in 'loss.*nan'; may be given again"},
		{progress.FlagAction, "what a broken rule leads to, for the --expect or --fail-on before it: `report` (default of --expect), or stop: the run ends with 79 (default of --fail-on)"},
		{progress.FlagList, "such rules as a JSON `LIST`, with the fields of a LaunchJob's spec.progress"},
	} {
		set.Var(ruleFlag{f.name, words}, f.name, f.usage)
	}
}

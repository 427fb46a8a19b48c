package main

import (
	"github.com/musterhq/muster/agent/progress"
)

// ruleFlag is one of the flags that define progress rules. Their order on the command line matters,
// so all of them append to one list.
type ruleFlag struct {
	name  string
	words *[]progress.Word
}

// String implements pflag.Value. There are no defaults.
func (f ruleFlag) String() string { return "" }

// Set implements pflag.Value.
func (f ruleFlag) Set(value string) error {
	*f.words = append(*f.words, progress.Word{Flag: f.name, Value: value})
	return nil
}

// Type implements pflag.Value.
func (f ruleFlag) Type() string { return "string" }

// given returns the values that were set.
func (f ruleFlag) given() (values []string) {
	for _, word := range *f.words {
		if word.Flag == f.name {
			values = append(values, word.Value)
		}
	}
	return values
}

package main

import (
	"time"

	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/settings"
)

// listFlag is a flag whose value is a list of rules as JSON.
type listFlag struct{ text *string }

// String implements pflag.Value.
func (f listFlag) String() string { return "" }

// Set implements pflag.Value.
func (f listFlag) Set(value string) error {
	*f.text = value
	return nil
}

// Type implements pflag.Value.
func (f listFlag) Type() string { return "string" }

// settingFlags adds the flags of a verb, by group, for the fields of target. A setting without a
// field in target becomes a separate flag.
func settingFlags(groups *[]group, verb settings.Verb, target any) {
	fields := settings.Fields(target)
	for s := range settings.Of(verb) {
		use := verb(s)
		set := groupOf(groups, use.Group)
		switch p := fields[s.Name].(type) {
		case *int:
			set.IntVarP(p, s.Name, s.Short, *p, use.Help)
		case *bool:
			set.BoolVarP(p, s.Name, s.Short, *p, use.Help)
		case *string:
			if s.Kind == settings.List {
				set.Var(listFlag{p}, s.Name, use.Help)
				break
			}
			set.StringVarP(p, s.Name, s.Short, *p, use.Help)
		case *time.Duration:
			set.DurationVarP(p, s.Name, s.Short, *p, use.Help)
		case *[]string:
			if s.Kind == settings.Names {
				set.StringSliceVarP(p, s.Name, s.Short, *p, use.Help)
			} else {
				set.StringArrayVarP(p, s.Name, s.Short, *p, use.Help)
			}
		default:
			switch s.Kind {
			case settings.Rule:
				set.Var(ruleFlag{s.Name, fields[progress.FlagList].(*[]progress.Word)}, s.Name, use.Help)
			case settings.Duration:
				set.Duration(s.Name, 0, use.Help)
			default:
				set.String(s.Name, "", use.Help)
			}
		}
		if !s.First {
			_ = set.SetAnnotation(s.Name, rest, nil) // it was added above
		}
	}
}

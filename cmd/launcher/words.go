package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/submit"
	"github.com/musterhq/muster/exec/names"
)

// group is a set of flags with a heading, as in --help.
type group struct {
	title string
	set   *pflag.FlagSet
}

// addGroup adds a group of flags.
func addGroup(groups *[]group, title string) *pflag.FlagSet {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	*groups = append(*groups, group{title, set})
	return set
}

// groupOf returns the group with that title, and adds it if necessary.
func groupOf(groups *[]group, title string) *pflag.FlagSet {
	for _, g := range *groups {
		if g.title == title {
			return g.set
		}
	}
	return addGroup(groups, title)
}

// Keys of a flag's annotations. annotation has the title of the flag's group. rest marks a flag that
// only --help-all shows. origin names what set the flag, if it was not the command line.
const (
	annotation = "group"
	rest       = "rest"
	origin     = "origin"
)

// bindGroups adds the flags of all groups to cmd.
func bindGroups(cmd *cobra.Command, groups []group) {
	for _, g := range groups {
		g.set.VisitAll(func(flag *pflag.Flag) {
			if flag.Annotations == nil {
				flag.Annotations = map[string][]string{}
			}
			flag.Annotations[annotation] = []string{g.title}
		})
		cmd.Flags().AddFlagSet(g.set)
	}
	cmd.Flags().SortFlags = false
}

// later marks the flags of set for --help-all, except for the named ones.
func later(set *pflag.FlagSet, but ...string) {
	set.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(but, flag.Name) {
			_ = set.SetAnnotation(flag.Name, rest, nil) // it is there
		}
	})
}

// groupsOf returns the flags of cmd as --help shows them, or with all as --help-all does: first those
// without a group. left is the number of flags that it left out.
func groupsOf(cmd *cobra.Command, all bool) (groups []group, left int) {
	addGroup(&groups, "flags")
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if _, later := flag.Annotations[rest]; later && !all {
			left++
			return
		}
		if flag.Name == "help" { // the reader has just used it
			return
		}
		title := groups[0].title
		if a := flag.Annotations[annotation]; len(a) > 0 {
			title = a[0]
		}
		groupOf(&groups, title).AddFlag(flag)
	})
	return slices.DeleteFunc(groups, func(g group) bool { return !g.set.HasFlags() }), left
}

// wrongFlag converts errors of pflag to sentences that say what is right.
func wrongFlag(cmd *cobra.Command, err error) error {
	way := cmd.CommandPath() + " --help lists the flags"
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &invalid) && invalid.GetValue() == "--":
		err = noValue(invalid.GetFlag())
	case errors.As(err, &invalid):
		err = fmt.Errorf("--%s=%q: want %s", invalid.GetFlag().Name, invalid.GetValue(), takes(invalid.GetFlag()))
	case errors.As(err, &unknown):
		typed := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			typed, _, _ = strings.Cut(letters, "=")
			err = fmt.Errorf("unknown flag: -%s", typed)
		}
		way = failure.FlagHint(cmd.CommandPath(), typed, flagNames(cmd))
	case errors.As(err, &missing):
		err = noValue(missing.GetFlag())
	}
	return &failure.Failure{Code: names.ExitUsage, Err: err, Way: way}
}

func noValue(flag *pflag.Flag) error {
	return fmt.Errorf("--%s: missing value, want %s", flag.Name, takes(flag))
}

// dashesAsValue rejects a flag that has taken the -- before the command as its value, as in
// `--hostfile -- mpirun`.
func dashesAsValue(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		switch many := flag.Value.(type) {
		case pflag.SliceValue:
			values = many.GetSlice()
		case ruleFlag:
			values = many.given()
		}
		if wrong == nil && slices.Contains(values, "--") {
			wrong = wrongFlag(cmd, noValue(flag))
		}
	})
	return wrong
}

// flagNames lists the flags of cmd that --help shows.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	return names
}

// takes describes the value of a flag.
func takes(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "int", "int64":
		return "a number, as in --" + flag.Name + "=4"
	case "duration":
		return "a time, as in --" + flag.Name + "=90s, 10m or 1h"
	case "bool":
		return "true or false"
	}
	return "a value"
}

// ranksAsNamespace rejects -n 4 and -np 4 if -n is --namespace, because users of mpirun and srun
// mean ranks. It accepts --namespace=4. If a command lacks its --, the -n belongs to the program;
// submit reports that itself.
func ranksAsNamespace(cmd *cobra.Command, args, words []string) error {
	if cmd.Name() == "submit" && cmd.ArgsLenAtDash() < 0 && len(words) > 0 && !submit.IsKind(words[len(words)-1]) {
		return nil
	}
	flag := cmd.Flags().Lookup("namespace")
	short := func(word string) bool { return strings.HasPrefix(word, "-n") }
	if flag == nil || !flag.Changed || !slices.ContainsFunc(args, short) {
		return nil
	}
	if cmd.Name() == "submit" && cmd.ArgsLenAtDash() < 0 && cmd.Flags().NArg() > 0 {
		return nil // it may belong to a command without --; submit reports that
	}
	value := flag.Value.String()
	number := strings.TrimLeft(value, "p=")
	_, err := strconv.Atoi(number)
	fake := cmd.Flags().Lookup("fake")
	switch {
	case err != nil && !(fake != nil && fake.Changed):
		return nil
	case err != nil && value != "p":
		return failure.Usage("omit -n: fake workers have no namespace", "-n %s: -n means --namespace here, not the number of ranks", value)
	case err != nil:
		return failure.Usage("mpirun's options come after it: agent run --fake=2 -- mpirun -np 2 ./program", "-np: -n means --namespace here, not the number of ranks")
	}
	return failure.Usage(insteadOf(cmd, number), "-n %s: -n means --namespace here, not the number of ranks", value)
}

// insteadOf says what to write in place of -n NUMBER.
func insteadOf(cmd *cobra.Command, number string) string {
	switch {
	case cmd.Flags().Lookup("fake") != nil:
		return "--workers=" + number + " --job=NAME waits for workers, --fake=" + number + " starts them on this machine; ranks are mpirun's: agent run --fake=" + number + " -- mpirun -np " + number + " ./program"
	case cmd.Flags().Lookup("workers") != nil:
		return "--workers=" + number + " is how many workers"
	case cmd.Flags().Lookup("tail") != nil:
		return "--tail=" + number + " is how many lines"
	}
	return "--namespace=" + number + ", if that is its name"
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/shortage"
)

// stderr returns the writer for lines of a level: info, warn or error. They are JSON
// under a launcher with --log-format=json, or with its variable.
func stderr(level string) io.Writer {
	if os.Getenv(names.EnvLogFormat) == names.LogJSON {
		return failure.JSONLines{Out: os.Stderr, Level: level}
	}
	return os.Stderr
}

// complain prints err, and its hint if it has one, and returns code.
func complain(code int, err error) int {
	if err == nil {
		return code
	}
	return complainWith(code, shortage.Way(err), err)
}

// complainWith is complain with a hint of the caller's.
func complainWith(code int, way string, err error) int {
	text := "agent: " + err.Error() + "\n"
	if way != "" {
		text += "hint: " + way + "\n"
	}
	_, _ = io.WriteString(stderr("error"), text) // nowhere is left to say that this failed
	return code
}

// newFlags makes the flags of a verb.
func newFlags(verb string) *flag.FlagSet {
	fs := flag.NewFlagSet(verb, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {} // package flag calls it for mistakes too
	return fs
}

// show prints text on stdout, and returns the exit code of that.
func show(text string) int {
	_, err := os.Stdout.WriteString(text)
	var perr *os.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	if err != nil {
		return complain(names.ExitOutput, fmt.Errorf("standard output: %w", err))
	}
	return 0
}

// parse reads a verb's flags and counts its words. ok is false when the program
// is to end with code: help, the verb's whole help text, was asked for and printed,
// or the line is wrong.
func parse(fs *flag.FlagSet, help string, args []string, least, most int) (code int, ok bool) {
	err := fs.Parse(args)
	way := "agent " + fs.Name() + " --help"
	switch {
	case errors.Is(err, flag.ErrHelp):
		return show(help), false
	case err != nil:
		f := failure.OfFlags("agent "+fs.Name(), fs, err)
		err, way = fmt.Errorf("%s: %w", fs.Name(), f.Err), f.Way
	case fs.NArg() < least:
		err = fmt.Errorf("%s: a word is missing", fs.Name())
	case fs.NArg() > most:
		err = fmt.Errorf("%s takes no %q", fs.Name(), fs.Arg(most))
	default:
		return 0, true
	}
	return complainWith(names.ExitUsage, way, err), false
}

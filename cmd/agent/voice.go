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

// stderr returns the writer for lines of a level: info, warn or error. They are JSON under a
// launcher with --log-format=json, or if the variable of that flag says so.
func stderr(level string) io.Writer {
	if os.Getenv(names.EnvLogFormat) == names.LogJSON {
		return failure.JSONLines{Out: os.Stderr, Level: level}
	}
	return os.Stderr
}

// complain prints err and its hint, and returns code.
func complain(code int, err error) int {
	if err == nil {
		return code
	}
	return complainWith(code, shortage.Way(err), err)
}

// complainWith is complain with the caller's hint.
func complainWith(code int, way string, err error) int {
	text := "agent: " + err.Error() + "\n"
	if way != "" {
		text += "hint: " + way + "\n"
	}
	_, _ = io.WriteString(stderr("error"), text) // there is no place left to report an error
	return code
}

// newFlags returns the flag set of a verb.
func newFlags(verb string) *flag.FlagSet {
	fs := flag.NewFlagSet(verb, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {} // package flag also calls it for errors
	return fs
}

// show prints text on stdout, and returns the exit code for that.
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

// parse reads a verb's flags and checks the number of its words. ok is false if the program must
// exit with code: either it has printed the requested help, or the command line is wrong.
func parse(fs *flag.FlagSet, help string, args []string, least, most int) (code int, ok bool) {
	err := fs.Parse(args)
	if err == nil {
		err = failure.DashesAsValue(fs)
	}
	way := "agent " + fs.Name() + " --help"
	switch {
	case errors.Is(err, flag.ErrHelp):
		return show(help), false
	case err != nil:
		f := failure.OfFlags("agent "+fs.Name(), fs, err)
		err, way = fmt.Errorf("%s: %w", fs.Name(), f.Err), f.Way
	case fs.NArg() < least:
		err = fmt.Errorf("%s: missing argument", fs.Name())
	case fs.NArg() > most:
		err = fmt.Errorf("%s: unexpected argument %q", fs.Name(), fs.Arg(most))
	default:
		return 0, true
	}
	return complainWith(names.ExitUsage, way, err), false
}

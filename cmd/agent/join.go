package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/join"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

const joinHelp = `Usage:
  agent join [flags] -- COMMAND...

Runs as PID 1 of each pod of a job without a launcher, and needs no API server. Rank 0
serves a barrier over TCP, where the members meet. Then each member starts COMMAND with the
variables of its framework (RANK, WORLD_SIZE, MASTER_ADDR...). All members exit together:
with 0, or with the code of the first that failed. A single member is a small init.

Examples:
  agent join --workers=4 -- python train.py                  in an Indexed Job or a StatefulSet
  agent join --workers=4 --framework=torch --max-restarts=2 -- python train.py
  agent join --workers=1 -- ./server                         only PID 1
`

const joinCodes = `
Exit codes: the command's code on the first member that failed; 64 usage error, or conflicting members;
75 members missing at the deadline; 76 rank 0 unreachable, or a member lost; 128+n stopped by signal n.
`

// list is a flag that may be repeated.
type list []string

func (l *list) String() string         { return strings.Join(*l, ",") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

func runJoin(args []string) int {
	cfg := join.Defaults()
	fs := newFlags("join")
	joinFlags(fs, &cfg)
	wrong := fromEnvironment(fs)
	told := cfg.Grace // from the controller, for a member of a LaunchJob
	if code, ok := parse(fs, joinHelp+describe(fs)+joinCodes, args, 0, 1<<20); !ok {
		return code
	}
	if wrong == nil && os.Getenv(names.EnvJob) != "" && os.Getenv(settings.Variable("grace")) != "" {
		wrong = graceFits(cfg.Grace, names.Period(told))
	}
	if wrong != nil {
		return complain(names.ExitUsage, wrong)
	}
	cfg.Command, cfg.Framework = fs.Args(), framework.Spelled(cfg.Framework)
	if err := identify(&cfg); err != nil {
		return complainOf(err)
	}
	if err := cfg.Validate(); err != nil {
		return complainOf(err)
	}
	say := func(format string, words ...any) { fmt.Fprintf(stderr("info"), "agent: "+format+"\n", words...) }
	code, err := join.Run(context.Background(), cfg, say)
	return complain(code, err)
}

// graceFits returns an error for a --grace that is longer than the pod's grace period allows.
func graceFits(grace, period time.Duration) error {
	if grace <= period {
		return nil
	}
	way := fmt.Sprintf("omit --grace to use %s, or set terminationGracePeriodSeconds: %.0f in the pod's template", names.Grace(period), (grace + 5*time.Second).Seconds())
	return failure.Usage(way, "join: --grace=%s is longer than the grace period of this pod, %s", grace, period)
}

// joinFlags binds cfg to flags.
func joinFlags(fs *flag.FlagSet, cfg *join.Config) {
	fields := settings.Fields(cfg)
	for s := range settings.Of(settings.OfJoin) {
		switch p := fields[s.Name].(type) {
		case *int:
			fs.IntVar(p, s.Name, *p, s.Join.Help)
		case *string:
			fs.StringVar(p, s.Name, *p, s.Join.Help)
		case *time.Duration:
			fs.DurationVar(p, s.Name, *p, s.Join.Help)
		case *[]string:
			fs.Var((*list)(p), s.Name, s.Join.Help)
		}
	}
}

// describe lists the flags of join by group, for --help.
func describe(fs *flag.FlagSet) string {
	var titles []string
	lines := map[string]string{}
	for s := range settings.Of(settings.OfJoin) {
		title := s.Join.Group
		if lines[title] == "" {
			titles = append(titles, title)
		}
		value, help := flag.UnquoteUsage(fs.Lookup(s.Name))
		lines[title] += fmt.Sprintf("  %-24s %s\n", "--"+s.Name+" "+value, help)
	}
	var text strings.Builder
	for _, title := range titles {
		fmt.Fprintf(&text, "\n%s:\n%s", title, lines[title])
	}
	return text.String()
}

// fromEnvironment sets flags from their variables: MUSTER_MAX_RESTARTS for --max-restarts. A flag
// on the command line takes precedence.
func fromEnvironment(fs *flag.FlagSet) (err error) {
	environ := os.Environ()
	err = failure.UnknownVariable("agent join", environ, settings.Known())
	fs.VisitAll(func(f *flag.Flag) {
		name := settings.Variable(f.Name)
		value := os.Getenv(name)
		if value == "" || f.Name == "env" || failure.IsServiceLink(environ, name, value) {
			return
		}
		if serr := fs.Set(f.Name, value); serr != nil && err == nil {
			err = fmt.Errorf("join: %s=%q (sets --%s): want %s", name, value, f.Name, failure.Takes(f))
		}
	})
	return err
}

// identify adds what the pod knows about itself.
func identify(cfg *join.Config) (err error) {
	if cfg.Token, err = join.ReadToken(cfg.TokenFile, os.Getenv(names.EnvToken)); err != nil {
		return err
	}
	cfg.Host, _ = os.Hostname() // without a host name, --rank and --coordinator are required
	cfg.PodName, cfg.PodIP, cfg.Namespace = os.Getenv(names.EnvPodName), os.Getenv(names.EnvPodIP), os.Getenv(names.EnvNamespace)
	if path, ok := os.LookupEnv("MUSTER_TERMINATION_LOG"); ok {
		cfg.TerminationLog = path
	}
	hosts, _ := os.ReadFile("/etc/hosts") // an image may have none
	return cfg.Identify(os.Getenv, string(hosts))
}

func complainOf(err error) int {
	code := names.ExitUsage
	var f *failure.Failure
	if errors.As(err, &f) {
		code = f.Code
	}
	return complain(code, err)
}

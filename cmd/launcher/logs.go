package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/heed"
	"github.com/musterhq/muster/exec/names"
)

const logsHelp = `usage: agent logs [-f] [--rank N | --role ROLE | --all] [FLAGS] NAME
       agent logs --from PATH|s3://BUCKET/PREFIX [--rank N] [FLAGS]

Prints the log of a job. If the job has a launcher, its log contains the output of all ranks.
Otherwise this prints the logs of all pods and prefixes each line with its pod. With -f it
waits for missing pods, reconnects without losing or repeating lines, and ends with the job.
--rank prints the lines of one rank without their tags, or the log of its pod if there is no
launcher. If a log is gone, the exit code is 1. --from reads the files that agent run
--output=dir=PATH or s3://BUCKET/PREFIX has written, without a cluster.

  agent logs -f pi
  agent logs bert --rank 3 --tail 100       last lines of rank 3
  agent logs bert --since 10m --grep 'loss|Error'
  agent logs --from /logs/bert --rank 3     from files, after the pods are gone
  agent logs --from s3://logs/bert --rank 3
  agent logs tf --role ps
  agent logs pi --all                       logs of the launcher and the workers
  agent logs pi -c code-sync --all          another container: here the one that fetched the code`

type logsFlags struct {
	where      jobs.Where
	logs       jobs.Logs
	rank       int
	since      time.Duration
	sinceTime  string
	grep       string
	from       string
	attempt    int
	isAttempt  bool // --attempt is given
	exitCode   bool
	timestamps bool
	color      string
}

func newLogs(streams Streams) *cobra.Command {
	f := &logsFlags{}
	cmd := &cobra.Command{
		Use:   "logs [flags] NAME",
		Short: "print a job's log",
		Long:  logsHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("rank") {
				f.logs.Which.Rank = &f.rank
			}
			f.isAttempt = cmd.Flags().Changed("attempt")
			if cmd.Flags().Changed("tail") && f.logs.Tail == 0 {
				return failure.Usage("--since=1s -f prints new lines only; omit --tail to print all", "--tail=0: want at least one line")
			}
			if f.from != "" && len(args) == 0 {
				return f.run(cmd.Context(), streams)
			}
			name, err := oneName(cmd, args)
			if err != nil {
				return err
			}
			f.logs.Job = name
			return f.run(cmd.Context(), streams)
		},
	}
	var groups []group
	set := addGroup(&groups, "lines")
	set.BoolVarP(&f.logs.Follow, "follow", "f", false, "follow the log until the job ends")
	set.IntVar(&f.rank, "rank", 0, "print the lines of rank `N`")
	set.StringVar(&f.logs.Which.Role, "role", "", "print the logs of pods with `ROLE`: launcher, worker, ps...")
	set.BoolVar(&f.logs.Which.All, "all", false, "print the logs of all pods")
	set.StringVarP(&f.logs.Container, "container", "c", "", "print the log of container `CONTAINER` of the pods")
	set.IntVar(&f.logs.Tail, "tail", 0, "print the last `N` lines of each pod, or of the rank (default: all)")
	set.DurationVar(&f.since, "since", 0, "print lines of the last `TIME`, as in 10m")
	set.StringVar(&f.sinceTime, "since-time", "", "print lines since `TIME`, as in 2026-01-02T15:04:05Z")
	set.StringVar(&f.grep, "grep", "", "print lines that match `REGEXP`; --tail counts only these")
	set.BoolVar(&f.timestamps, "timestamps", false, "print the time of each line")
	set.StringVar(&f.color, "color", "auto", "color the names of pods `WHEN`: auto, always or never")
	set.StringVar(&f.from, "from", "", "read files of agent run --output at `PATH` or s3://BUCKET/PREFIX, not the cluster")
	set.IntVar(&f.attempt, "attempt", 0, "with --from: print lines of attempt `N`, from 0 (default: all)")
	set.BoolVar(&f.exitCode, "exit-code", false, "with -f: exit with the job's exit code")
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	bindGroups(cmd, groups)
	return cmd
}

// oneName returns the only word of a verb's command line.
func oneName(cmd *cobra.Command, args []string) (string, error) {
	switch {
	case len(args) == 0, len(args) == 1 && args[0] == "": // an unset variable of a shell
		return "", failure.Usage("agent list shows the jobs", "%s: missing job name", cmd.Name())
	case len(args) > 1:
		return "", failure.Usage(cmd.CommandPath()+" "+args[0], "%s: want one job name, not %d", cmd.CommandPath(), len(args))
	}
	return args[0], jobs.CheckNames(args[0])
}

func (f *logsFlags) validate() error {
	w := f.logs.Which
	chosen := 0
	for _, given := range []bool{w.Rank != nil, w.Role != "", w.All} {
		if given {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return failure.Usage("use only one of them", "--rank, --role and --all cannot be used together")
	case w.Rank != nil && *w.Rank < 0:
		return failure.Usage("ranks count from 0", "--rank=%d must not be negative", *w.Rank)
	case f.logs.Tail < 0 || f.since < 0:
		return failure.Usage("--tail=100 --since=10m", "--tail and --since must not be negative")
	case f.exitCode && !f.logs.Follow:
		return failure.Usage("add -f", "--exit-code requires -f")
	case f.since > 0 && f.sinceTime != "":
		return failure.Usage("use only one of them", "--since and --since-time cannot be used together")
	case f.from != "" && (f.logs.Follow || w.Role != "" || w.All || f.logs.Container != ""):
		return failure.Usage("tail -F PATH/rank-3.out follows a file", "--from reads files: -f, --role, --all and -c do not apply")
	case f.isAttempt && f.from == "":
		return failure.Usage("agent logs --from=PATH --attempt=0 reads files of agent run --output=dir=PATH", "--attempt requires --from: a pod's log does not say where an attempt begins")
	}
	return nil
}

// chosen returns the parsed values of --since, --since-time and --grep. match is nil without --grep.
func (f *logsFlags) chosen(now time.Time) (since time.Time, match func([]byte) bool, err error) {
	if f.since > 0 {
		since = now.Add(-f.since)
	}
	if f.sinceTime != "" {
		if since, err = time.Parse(time.RFC3339, f.sinceTime); err != nil {
			return since, nil, failure.Usage("--since-time=2026-01-02T15:04:05Z, or --since=10m", "--since-time=%s: want a time of RFC 3339", f.sinceTime)
		}
	}
	if f.grep == "" {
		return since, nil, nil
	}
	expression, err := regexp.Compile(f.grep)
	if err != nil {
		return since, nil, failure.Usage("--grep='loss|error' takes Go's regular expressions; \\Q...\\E quotes a text", "--grep: %w", err)
	}
	return since, expression.Match, nil
}

func (f *logsFlags) run(ctx context.Context, streams Streams) error {
	if err := f.validate(); err != nil {
		return err
	}
	colored, err := wantsColor(f.color, streams)
	if err != nil {
		return err
	}
	since, match, err := f.chosen(time.Now())
	if err != nil {
		return err
	}
	printer := jobs.Printer{Out: streams.Out, Timestamps: f.timestamps, Color: colored}
	ctx, stop := heed.Context(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal kills: if nobody reads the lines, a write never returns
	switch {
	case strings.HasPrefix(f.from, "s3://"):
		return f.fromBucket(ctx, streams, printer, since, match)
	case f.from != "":
		return f.fromFiles(f.from, streams, printer, since, match)
	}
	api, err := open(f.where)
	if err != nil {
		return err
	}
	l := f.logs
	l.API, l.Say = api, sayer(streams.Err)
	l.Emit, l.Since, l.Match = printer.Line, since, match
	if err := l.Run(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exitCode(stopCode(context.Cause(ctx)))
	}
	if !f.exitCode {
		return nil
	}
	job, err := api.Job(ctx, l.Job)
	if err != nil {
		return err
	}
	if code := jobs.Code(job); code != 0 {
		return exitCode(code)
	}
	return nil
}

// wantsColor evaluates --color, which is about stdout.
func wantsColor(when string, streams Streams) (bool, error) {
	if err := failure.OneOf("--color", when, names.ColorAuto, names.ColorAlways, names.ColorNever); err != nil {
		return false, err
	}
	return names.Colored(when, term.IsTerminal(int(streams.Out.Fd())), os.Getenv), nil
}

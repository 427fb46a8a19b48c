package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/heed"
)

const logsHelp = `usage: agent logs [-f] [--rank N | --role ROLE | --all] [FLAGS] NAME

Prints the log of a job: its launcher's, in which all ranks of an MPI job come together;
of a job without a launcher those of all pods, each line with its pod before it. With -f
it waits for pods that are not there yet, goes on when connections are lost, without a
line lost or doubled, and ends when the job has ended. --rank shows the lines that rank
wrote, without their tag; of a job without a launcher, its pod's log. A log that is gone
ends it with 1.

  agent logs -f pi
  agent logs bert --rank 3 --tail 100       the last lines of rank 3
  agent logs tf --role ps
  agent logs pi --all                       the launcher's and the workers'
  agent logs pi -c code-sync --all          another container: here what fetched the code`

type logsFlags struct {
	where      jobs.Where
	logs       jobs.Logs
	rank       int
	since      time.Duration
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
			name, err := oneName(cmd, args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("rank") {
				f.logs.Which.Rank = &f.rank
			}
			f.logs.Job = name
			return f.run(cmd.Context(), streams)
		},
	}
	var groups []group
	set := addGroup(&groups, "which lines")
	set.BoolVarP(&f.logs.Follow, "follow", "f", false, "until the job has ended")
	set.IntVar(&f.rank, "rank", 0, "what rank `N` wrote")
	set.StringVar(&f.logs.Which.Role, "role", "", "the pods of this `ROLE`: launcher, worker, ps...")
	set.BoolVar(&f.logs.Which.All, "all", false, "all pods")
	set.StringVarP(&f.logs.Container, "container", "c", "", "another `CONTAINER` of the pods")
	set.IntVar(&f.logs.Tail, "tail", 0, "the last `N` lines of each pod, or of the rank (default: all)")
	set.DurationVar(&f.since, "since", 0, "lines not older than `TIME`")
	set.BoolVar(&f.timestamps, "timestamps", false, "each with its time")
	set.StringVar(&f.color, "color", "auto", "of the pods' names: `WHEN`, auto, always or never")
	set.BoolVar(&f.exitCode, "exit-code", false, "with -f: end as the job ends")
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	bindGroups(cmd, groups)
	return cmd
}

// oneName returns the only word of a verb's command line.
func oneName(cmd *cobra.Command, args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", failure.Usage("agent list shows the jobs", "%s: which job?", cmd.Name())
	case len(args) > 1:
		return "", failure.Usage(cmd.CommandPath()+" "+args[0], "%s takes one name, and here are %d", cmd.CommandPath(), len(args))
	}
	return args[0], nil
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
		return failure.Usage("take one of them", "--rank, --role and --all exclude each other")
	case w.Rank != nil && *w.Rank < 0:
		return failure.Usage("ranks count from 0", "--rank=%d", *w.Rank)
	case f.logs.Tail < 0 || f.since < 0:
		return failure.Usage("--tail=100 --since=10m", "--tail and --since cannot be negative")
	case f.exitCode && !f.logs.Follow:
		return failure.Usage("add -f", "--exit-code is for who waits for the job's end")
	}
	return nil
}

func (f *logsFlags) run(ctx context.Context, streams Streams) error {
	if err := f.validate(); err != nil {
		return err
	}
	colored, err := wantsColor(f.color, streams)
	if err != nil {
		return err
	}
	api, err := open(f.where)
	if err != nil {
		return err
	}
	ctx, stop := heed.Context(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	l := f.logs
	l.API, l.Say = api, sayer(streams.Err)
	l.Emit = jobs.Printer{Out: streams.Out, Timestamps: f.timestamps, Color: colored}.Line
	if f.since > 0 {
		l.Since = time.Now().Add(-f.since)
	}
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

// wantsColor evaluates --color. auto means on a terminal that is not dumb, unless $NO_COLOR is set.
func wantsColor(when string, streams Streams) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(streams.Out.Fd())), nil
	}
	return false, failure.New(64, "it takes auto, always, never", "--color=%s is not known", when)
}

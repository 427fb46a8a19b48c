package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/heed"
	"github.com/musterhq/muster/exec/names"
)

const scaleHelp = `usage: agent scale NAME --workers N

Changes the number of workers of an elastic job. A job that is not elastic must be suspended.

  agent scale bert --workers 6`

const deleteHelp = `usage: agent delete NAME... [--wait]

Deletes jobs, their pods, and everything else that was created for them.

  agent delete pi
  agent delete pi bert --wait               wait until their pods are gone`

const pruneHelp = `usage: agent prune --older-than TIME [-A] [-l SELECTOR] [--dry-run]

Deletes jobs that finished more than TIME ago, and prints their names.

  agent prune --older-than 7d
  agent prune --older-than 12h -A --dry-run`

func newScale(streams Streams) *cobra.Command {
	var where jobs.Where
	var workers int
	cmd := &cobra.Command{Use: "scale [flags] NAME", Short: "change the number of workers", Long: scaleHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := oneName(cmd, args)
		switch {
		case err != nil:
			return err
		case !cmd.Flags().Changed("workers"):
			return failure.Usage("agent scale "+name+" --workers 4", "agent scale: --workers is required")
		case workers < 0 || workers > 10000:
			return failure.Usage("--workers=4", "--workers=%d: want 0 to 10000", workers)
		}
		api, err := open(where)
		if err != nil {
			return err
		}
		if err := api.Scale(cmd.Context(), name, workers); err != nil {
			return err
		}
		return printName(streams, name, "scaled")
	}
	var groups []group
	addGroup(&groups, "size").IntVar(&workers, "workers", 0, "change the job to `N` workers")
	whereFlags(addGroup(&groups, "the cluster"), &where)
	bindGroups(cmd, groups)
	return cmd
}

func newDelete(streams Streams) *cobra.Command {
	var where jobs.Where
	var wait bool
	cmd := &cobra.Command{Use: "delete [flags] NAME...", Short: "delete jobs", Long: deleteHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return failure.Usage("agent list shows the jobs; agent prune --older-than=7d deletes jobs that ended a week ago", "agent delete: missing job names")
		}
		if err := jobs.CheckNames(args...); err != nil {
			return err
		}
		api, err := open(where)
		if err != nil {
			return err
		}
		ctx, stop := heed.Context(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		var awaited []*v1alpha1.LaunchJob
		code, err := each(ctx, streams, args, func(name string) error {
			job := &v1alpha1.LaunchJob{}
			if wait { // by its UID
				var err error
				if job, err = api.Job(ctx, name); err != nil {
					return err
				}
			}
			if err := api.Delete(ctx, api.Namespace, name, job.UID); err != nil {
				return err
			}
			if wait {
				awaited = append(awaited, job)
			}
			return deleted(streams, name, api.Namespace, "")
		})
		if err != nil {
			return err
		}
		for _, job := range awaited {
			if err := api.Gone(ctx, job.Name, job.UID, sayer(streams.Err)); ctx.Err() != nil {
				return failure.New(stopCode(context.Cause(ctx)), "", "no longer waiting for the pods of %s: %w", job.Name, context.Cause(ctx))
			} else if err != nil {
				return err
			}
		}
		if code != 0 {
			return exitCode(code)
		}
		return nil
	}
	var groups []group
	addGroup(&groups, "deletion").BoolVar(&wait, "wait", false, "wait until their pods are gone")
	whereFlags(addGroup(&groups, "the cluster"), &where)
	bindGroups(cmd, groups)
	return cmd
}

// each calls do for each item, also after one has failed: it reports the error, and code is the exit code
// of the first. It returns an error that the remaining items would meet as well.
func each[T any](ctx context.Context, streams Streams, items []T, do func(T) error) (code int, err error) {
	for _, item := range items {
		err := do(item)
		if err == nil {
			continue
		}
		failed := failure.CodeOf(err)
		if ctx.Err() != nil || failed == names.ExitNoCluster || failed == names.ExitBug {
			return code, err
		}
		failure.Complain(streams.Err.level("error"), err)
		code = cmp.Or(code, failed)
	}
	return code, nil
}

func deleted(streams Streams, name, namespace, dry string) error {
	_, err := fmt.Fprintf(streams.Out, "launchjob.muster.dev %q deleted from %s namespace%s\n", name, namespace, dry)
	return err
}

// days is a duration that may be given in days, d.
type days time.Duration

func (d *days) String() string {
	if *d == 0 {
		return "" // --help shows no default
	}
	return time.Duration(*d).String()
}

// Type implements pflag.Value; wrongFlag uses it.
func (d *days) Type() string { return "duration" }

// Set parses 7d, and the durations of Go.
func (d *days) Set(text string) error {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		many, err := strconv.ParseFloat(n, 64)
		if err == nil {
			*d = days(many * 24 * float64(time.Hour))
		}
		return err
	}
	t, err := time.ParseDuration(text)
	*d = days(t)
	return err
}

func newPrune(streams Streams) *cobra.Command {
	s := &shown{}
	var older days
	var dry bool
	cmd := &cobra.Command{Use: "prune [flags]", Short: "delete finished jobs", Long: pruneHelp, Args: noArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("older-than") {
			return failure.Usage("--older-than 7d; --older-than 0s is all that have ended", "agent prune: --older-than is required")
		}
		if older < 0 {
			return failure.Usage("--older-than 7d", "--older-than must not be negative")
		}
		if err := s.validate(); err != nil {
			return err
		}
		return s.prune(cmd.Context(), time.Now().Add(-time.Duration(older)), dry, streams)
	}
	var groups []group
	set := addGroup(&groups, "jobs")
	set.Var(&older, "older-than", "select jobs that finished more than `TIME` ago, as in 12h or 7d")
	s.bindMany(set)
	set.BoolVar(&dry, "dry-run", false, "print the jobs without deleting them")
	whereFlags(addGroup(&groups, "the cluster"), &s.where)
	bindGroups(cmd, groups)
	return cmd
}

func (s *shown) prune(ctx context.Context, before time.Time, dry bool, streams Streams) error {
	api, err := open(s.where)
	if err != nil {
		return err
	}
	old, err := api.Prunable(ctx, s.namespace(api), s.selector, before)
	if err != nil {
		return err
	}
	note := ""
	if dry {
		note = " (dry run)"
	}
	code, err := each(ctx, streams, old, func(job v1alpha1.LaunchJob) error {
		if !dry {
			if err := api.Prune(ctx, &job); err != nil {
				return err
			}
		}
		return deleted(streams, job.Name, job.Namespace, note)
	})
	if err != nil {
		return err
	}
	if len(old) == 0 {
		fmt.Fprintln(streams.Err, "No jobs ended before then.")
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

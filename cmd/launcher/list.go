package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
)

const listHelp = `usage: agent list [-A] [-l SELECTOR] [-o wide|json|yaml|name]

Lists the jobs in a namespace, or in all namespaces.

  agent list
  agent list -A -o wide
  agent list -l team=vision -o name`

const getHelp = `usage: agent get NAME [-o json|yaml|name]

Shows the status of a job: phase, reason, first failure, conditions and pods.

  agent get pi
  agent get pi -o yaml`

// shown are the flags of verbs that show jobs.
type shown struct {
	where    jobs.Where
	all      bool
	selector string
	output   string
	color    string
}

func (s *shown) bindOutput(set *pflag.FlagSet, formats string) {
	set.StringVarP(&s.output, "output", "o", "", "print in `FORMAT`: "+formats)
	set.StringVar(&s.color, "color", "auto", "use color `WHEN`: auto, always or never")
}

func (s *shown) bindMany(set *pflag.FlagSet) {
	set.BoolVarP(&s.all, "all-namespaces", "A", false, "select jobs in all namespaces")
	set.StringVarP(&s.selector, "selector", "l", "", "select jobs by label `SELECTOR`")
}

// validate checks --selector.
func (s *shown) validate() error {
	if _, err := labels.Parse(s.selector); err != nil {
		return failure.Usage("a selector is written as label=value,label=value", "--selector=%q: %w", s.selector, err)
	}
	return nil
}

// namespace returns the namespace of the jobs, or "" for all.
func (s *shown) namespace(api *jobs.API) string {
	if s.all {
		return ""
	}
	return api.Namespace
}

// begin checks the flags and finds the cluster.
func (s *shown) begin(streams Streams, formats ...string) (api *jobs.API, colored bool, err error) {
	if err := failure.OneOf("-o", s.output, append(formats, "")...); err != nil {
		return nil, false, err
	}
	if colored, err = wantsColor(s.color, streams); err != nil {
		return nil, false, err
	}
	if err := s.validate(); err != nil {
		return nil, false, err
	}
	api, err = open(s.where)
	return api, colored, err
}

func newList(streams Streams) *cobra.Command {
	s := &shown{}
	cmd := &cobra.Command{
		Use: "list [flags]", Aliases: []string{"ls"}, Short: "list jobs", Long: listHelp, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.list(cmd.Context(), streams) },
	}
	var groups []group
	set := addGroup(&groups, "jobs and output")
	s.bindMany(set)
	s.bindOutput(set, "wide, json, yaml or name")
	whereFlags(addGroup(&groups, "the cluster"), &s.where)
	bindGroups(cmd, groups)
	return cmd
}

func (s *shown) list(ctx context.Context, streams Streams) error {
	api, colored, err := s.begin(streams, "wide", "json", "yaml", "name")
	if err != nil {
		return err
	}
	list, err := api.Jobs(ctx, s.namespace(api), s.selector)
	if err != nil {
		return err
	}
	switch s.output {
	case "json", "yaml":
		return jobs.PrintList(streams.Out, list, s.output)
	case "name":
		for _, job := range list {
			if err := printName(streams, job.Name, ""); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		where := " in " + api.Namespace + " namespace"
		if s.all {
			where = ""
		}
		fmt.Fprintf(streams.Err, "No resources found%s.\n", where)
		return nil
	}
	t := jobs.Table(list, s.output == "wide", s.all, time.Now())
	if colored {
		t.Color = jobs.PhaseColor
	}
	return t.Print(streams.Out)
}

// printName prints a job like kubectl -o name, followed by what was done to it.
func printName(streams Streams, name, became string) error {
	if became != "" {
		became = " " + became
	}
	_, err := fmt.Fprintf(streams.Out, "launchjob.%s/%s%s\n", v1alpha1.Version().Group, name, became)
	return err
}

func newGet(streams Streams) *cobra.Command {
	s := &shown{}
	cmd := &cobra.Command{
		Use: "get [flags] NAME", Short: "show the status of a job", Long: getHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := oneName(cmd, args)
			if err != nil {
				return err
			}
			return s.get(cmd.Context(), name, streams)
		},
	}
	var groups []group
	s.bindOutput(addGroup(&groups, "output"), "json, yaml or name")
	whereFlags(addGroup(&groups, "the cluster"), &s.where)
	bindGroups(cmd, groups)
	return cmd
}

func (s *shown) get(ctx context.Context, name string, streams Streams) error {
	api, colored, err := s.begin(streams, "json", "yaml", "name")
	if err != nil {
		return err
	}
	if s.output == "" {
		return api.Describe(ctx, streams.Out, name, colored)
	}
	job, err := api.Job(ctx, name)
	if err != nil {
		return err
	}
	if s.output == "name" {
		return printName(streams, job.Name, "")
	}
	return jobs.Print(streams.Out, job, s.output)
}

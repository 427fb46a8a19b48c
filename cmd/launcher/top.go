package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
)

const topHelp = `usage: agent top job [NAME] [-A]
       agent top node

Shows what jobs request and use, and what nodes have: GPUs that pods hold, and CPU and memory
if the cluster has metrics-server.

  agent top job
  agent top job bert
  agent top node`

func newTop(streams Streams) *cobra.Command {
	s := &shown{}
	cmd := &cobra.Command{Use: "top job|node [flags] [NAME]", Short: "show GPUs, CPU and memory of jobs and nodes", Long: topHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return failure.Usage("agent top job, or agent top node", "agent top: missing job or node")
		}
		name := ""
		if len(args) == 2 {
			name = args[1]
		}
		switch {
		case len(args) > 2, args[0] == "node" && name != "", name != "" && s.all:
			return failure.Usage("agent top job [NAME], agent top job -A, or agent top node", "agent top: too many arguments")
		case args[0] == "job" || args[0] == "jobs":
			return s.topJobs(cmd.Context(), name, streams)
		case args[0] == "node" || args[0] == "nodes":
			return s.topNodes(cmd.Context(), streams)
		}
		return failure.Usage("agent top job, or agent top node", "agent top %s: want job or node", args[0])
	}
	var groups []group
	addGroup(&groups, "jobs").BoolVarP(&s.all, "all-namespaces", "A", false, "select jobs in all namespaces")
	whereFlags(addGroup(&groups, "the cluster"), &s.where)
	bindGroups(cmd, groups)
	return cmd
}

func (s *shown) topJobs(ctx context.Context, name string, streams Streams) error {
	api, err := open(s.where)
	if err != nil {
		return err
	}
	t, note, err := api.TopJobs(ctx, s.namespace(api), name)
	if err != nil {
		return err
	}
	if note != "" {
		sayer(streams.Err)("%s", note)
	}
	return t.Print(streams.Out)
}

func (s *shown) topNodes(ctx context.Context, streams Streams) error {
	api, err := open(s.where)
	if err != nil {
		return err
	}
	t, err := api.TopNodes(ctx)
	if err != nil {
		return err
	}
	return t.Print(streams.Out)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/agent/usage"
)

const topHelp = `usage: agent top [JOB] [-o json]
       agent top job [JOB] [-A]
       agent top node

Shows what jobs request and use, and what nodes have: GPUs that pods hold, and CPU and memory
if the cluster has metrics-server. With JOB it shows each worker, with the step times of its ranks
and the stragglers among them. Without JOB it asks the launcher that runs here.

  agent top bert
  agent top bert -o json
  agent top                  beside agent run
  agent top job
  agent top node`

// mostShown is how many workers agent top shows.
const mostShown = 20

func newTop(streams Streams) *cobra.Command {
	s := &shown{}
	cmd := &cobra.Command{Use: "top [flags] [JOB] | job [JOB] | node", Short: "show GPUs, CPU, memory and step times", Long: topHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := jobs.CheckNames(args...); err != nil {
			return err
		}
		return s.top(cmd.Context(), args, streams)
	}
	var groups []group
	set := addGroup(&groups, "jobs and output")
	set.BoolVarP(&s.all, "all-namespaces", "A", false, "select jobs in all namespaces")
	set.StringVarP(&s.output, "output", "o", "", "print the workers of a job in `FORMAT`: json")
	whereFlags(addGroup(&groups, "the cluster"), &s.where)
	bindGroups(cmd, groups)
	return cmd
}

func (s *shown) top(ctx context.Context, args []string, streams Streams) error {
	if err := failure.OneOf("-o", s.output, "json", ""); err != nil {
		return err
	}
	what, name := "", ""
	if len(args) > 0 {
		what = strings.TrimSuffix(args[0], "s")
	} else if s.all {
		what = "job"
	}
	switch {
	case what == "job" && len(args) > 1:
		name = args[1]
	case what != "job" && what != "node" && len(args) > 0:
		what, name = "job", args[0]
		args = append([]string{what}, args...)
	}
	switch {
	case len(args) > 2, what == "node" && len(args) > 1, s.all && (name != "" || what != "job"):
		return failure.Usage("agent top [JOB], agent top job -A, or agent top node", "agent top: too many arguments")
	case s.output != "" && (what == "node" || what == "job" && name == ""):
		return failure.Usage("agent top JOB -o json prints the workers of a job", "-o %s needs a job", s.output)
	case what == "node":
		return s.topNodes(ctx, streams)
	case what == "":
		return s.topHere(streams)
	case name == "":
		return s.topJobs(ctx, streams)
	}
	return s.topJob(ctx, name, streams)
}

func (s *shown) topJobs(ctx context.Context, streams Streams) error {
	api, err := open(s.where)
	if err != nil {
		return err
	}
	t, note, err := api.TopJobs(ctx, s.namespace(api), "")
	if err != nil {
		return err
	}
	if note != "" {
		sayer(streams.Err)("%s", note)
	}
	return t.Print(streams.Out)
}

// topJob shows a job and its workers. What the launcher knows is left out if it cannot be asked.
func (s *shown) topJob(ctx context.Context, name string, streams Streams) error {
	api, err := open(s.where)
	if err != nil {
		return err
	}
	job, err := api.Job(ctx, name)
	if err != nil {
		return err
	}
	t, _, err := api.TopJobs(ctx, api.Namespace, name)
	if err != nil {
		return err
	}
	all, note, err := api.Workers(ctx, job)
	if err != nil {
		return err
	}
	more, why := usageOf(ctx, api, job)
	all = usage.Merge(all, more)
	usage.Sort(all)
	asked := all
	if s.output == "" {
		asked = all[:min(len(all), mostShown)]
		if err := t.Print(streams.Out); err != nil {
			return err
		}
		fmt.Fprintln(streams.Out)
	}
	api.AskGPUs(ctx, name, asked)
	return s.printWorkers(all, streams, note, why)
}

// usageOf asks the launcher of a job, by running `agent top` in its pod. why says why it did not
// answer.
func usageOf(ctx context.Context, api *jobs.API, job *v1alpha1.LaunchJob) (all []usage.Worker, why string) {
	if job.Spec.Launcher == nil {
		return nil, "step times are unknown: only a launcher measures them, and the job has none"
	}
	text, err := inLauncher(ctx, api, job.Name, "top", "-o", "json")
	if err != nil {
		return nil, "step times are unknown: the launcher did not answer: " + strings.Join(strings.Fields(err.Error()), " ")
	}
	var run topped
	if json.Unmarshal(text, &run) != nil {
		return nil, "step times are unknown: the agent in the launcher's pod has another release"
	}
	return run.Workers, ""
}

// topHere shows the workers of the launcher that runs here.
func (s *shown) topHere(streams Streams) error {
	lines, err := askTop()
	if err != nil {
		return err
	}
	all := make([]usage.Worker, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &all[i]); err != nil {
			return fmt.Errorf("read the launcher's answer: %w", err)
		}
	}
	usage.Sort(all)
	return s.printWorkers(all, streams, "", "")
}

// noTopHere returns the error of agent top without a launcher.
func noTopHere() error {
	return failure.Usage("agent top JOB shows the workers of a job, agent top job shows all jobs, agent top node the nodes", "no launcher runs here")
}

// topped is the output of agent top -o json.
type topped struct {
	Median  float64        `json:"median_step_seconds,omitempty"` // of the ranks with a step time
	Ranks   int            `json:"ranks"`                         // number of these
	Workers []usage.Worker `json:"workers"`
}

// printWorkers prints the workers, and notes about what is unknown. why says why step times are.
func (s *shown) printWorkers(all []usage.Worker, streams Streams, note, why string) error {
	if _, ranks := usage.Median(all); ranks == 0 && why == "" {
		why = "step times are unknown: an --expect with a number measures them, if each rank prints its own"
	}
	for _, one := range []string{note, why} {
		if one != "" {
			sayer(streams.Err)("%s", one)
		}
	}
	if s.output == "json" {
		run := topped{Workers: append([]usage.Worker{}, all...)} // a list, never null
		run.Median, run.Ranks = usage.Median(all)
		text, err := json.MarshalIndent(run, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(streams.Out, "%s\n", text)
		}
		return err
	}
	if err := (jobs.Columns{Head: usage.Head(), Rows: usage.Rows(all, mostShown)}).Print(streams.Out); err != nil {
		return err
	}
	for _, line := range usage.Sentences(all, mostShown) {
		if _, err := fmt.Fprintln(streams.Out, failure.Visible(line)); err != nil {
			return err
		}
	}
	return nil
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

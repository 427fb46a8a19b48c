package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/names"
)

const metricsHelp = `usage: agent metrics --metric NAME[:RAW|PERCENTAGE]... [--out FILE] LOG...

Collects numbers that follow NAME= or NAME: in saved logs; LOG can be - for stdin. Prints the
last, largest and smallest value of each metric. If several ranks print one, the lowest rank
counts. --out writes the last values in the format of Kubeflow Pipelines. If no metric is
found, the exit code is 1. agent run --metric does the same while a job runs.

  agent metrics --metric loss --metric images/sec train.log
  agent metrics --metric acc:PERCENTAGE --out mlpipeline-metrics.json logs/rank-*.out
  kubectl logs job/train | agent metrics --metric 'val loss' -`

// metricsExample is the hint for an incomplete command line.
const metricsExample = "agent metrics --metric images/sec train.log"

// tagWords are the values of --tags.
var tagWords = map[string]metrics.Tags{"auto": metrics.TagsAuto, "all": metrics.TagsAll, "none": metrics.TagsNone}

type metricsFlags struct {
	names []string
	out   string
	tags  string
}

func newMetrics(streams Streams) *cobra.Command {
	var f metricsFlags
	cmd := &cobra.Command{
		Use:   "metrics [flags] LOG...",
		Short: "collect numbers from saved logs",
		Long:  metricsHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			return collect(f, args, streams)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringArrayVar(&f.names, "metric", nil, "collect `NAME[:RAW|PERCENTAGE]`; repeatable")
	set.StringVar(&f.out, "out", "", "write the last values to `FILE` for Kubeflow Pipelines")
	set.StringVar(&f.tags, "tags", "auto", "read 3: or [3] at the start of a line as its rank: `all`, none, or auto (if every line has one)")
	return cmd
}

func collect(f metricsFlags, logs []string, streams Streams) error {
	specs, tags, err := f.read(logs)
	if err != nil {
		return err
	}
	c := metrics.New(specs)
	notes, err := c.Files(logs, streams.In, tags)
	if err != nil {
		way := ""
		if strings.HasSuffix(err.Error(), "is a directory") {
			way = "name its files, as in agent metrics --metric loss DIR/rank-*.out"
		}
		return &failure.Failure{Code: 1, Err: err, Way: way}
	}
	entries, more := metrics.Entries(c.Series())
	for _, note := range append(notes, more...) {
		fmt.Fprintf(streams.Err, "agent: %s\n", note)
	}
	if n := c.Long(); n > 0 {
		fmt.Fprintf(streams.Err, "agent: skipped parts of lines longer than 64 KiB: %d\n", n)
	}
	summary := metrics.Summary(c.Series())
	if _, err := fmt.Fprint(streams.Out, summary); err != nil {
		return &failure.Failure{Code: 1, Err: fmt.Errorf("print metrics: %w", err)}
	}
	if f.out != "" {
		text, err := metrics.Encode(entries)
		if err == nil {
			err = outfile.Write(f.out, text, metrics.Ours)
		}
		if err != nil {
			return failure.New(names.ExitOutput, outfile.Hint(err), "write metrics: %w", err)
		}
	}
	if summary == "" {
		return exitCode(1) // each missing metric was reported
	}
	return nil
}

// read checks the command line.
func (f metricsFlags) read(logs []string) ([]metrics.Spec, metrics.Tags, error) {
	wrong := func(way, format string, args ...any) error {
		return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf(format, args...), Way: way}
	}
	tags, known := tagWords[f.tags]
	stdin := 0
	for _, log := range logs {
		if log == "-" {
			stdin++
		}
	}
	switch {
	case len(f.names) == 0:
		return nil, 0, wrong(metricsExample, "--metric is required")
	case len(logs) == 0:
		return nil, 0, wrong(metricsExample+", or - for stdin", "missing log file")
	case stdin > 1:
		return nil, 0, wrong("", "stdin can be read only once")
	case !known:
		return nil, 0, wrong("want auto, all or none", "--tags=%s: unknown value", f.tags)
	}
	specs, err := metrics.Parse(f.names)
	if err != nil {
		return nil, 0, wrong("want NAME, NAME:RAW or NAME:PERCENTAGE, as in --metric loss", "%w", err)
	}
	return specs, tags, nil
}

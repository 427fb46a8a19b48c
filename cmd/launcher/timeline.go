package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/agent/timeline"
	"github.com/musterhq/muster/exec/names"
)

const timelineHelp = `usage: agent timeline [FILE | JOB] [-o html|svg|json|chrome]

Shows where the time of a run went: a bar for each worker by phase, the slowest worker of each
phase, and the goodput. FILE is a file of agent run --events. With JOB it asks the launcher of that
job. If the launcher does not run, it draws the short record in the job's status. Without both it
shows the newest run in this container or on this machine.

  agent timeline
  agent timeline bert
  agent timeline events.jsonl
  agent timeline bert -o html >bert.html               a page to zoom and search in
  agent timeline events.jsonl -o svg >run.svg          a picture for a report
  agent timeline events.jsonl -o chrome >trace.json    open it at ui.perfetto.dev`

// usualWidth is the width of the view in characters if standard output is no terminal.
const usualWidth = 80

type timelineFlags struct {
	where  jobs.Where
	output string
}

func newTimeline(streams Streams) *cobra.Command {
	f := &timelineFlags{}
	cmd := &cobra.Command{Use: "timeline [flags] [FILE|JOB]", Short: "show where the time of a run went", Long: timelineHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, streams) }
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return jobNames(cmd), cobra.ShellCompDirectiveDefault
	}
	var groups []group
	addGroup(&groups, "output").StringVarP(&f.output, "output", "o", "", "print in `FORMAT`: html, svg, json, or chrome for Perfetto")
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	bindGroups(cmd, groups)
	return cmd
}

func (f *timelineFlags) run(cmd *cobra.Command, args []string, streams Streams) error {
	if err := failure.OneOf("-o", f.output, "html", "svg", "json", "chrome", ""); err != nil {
		return err
	}
	switch {
	case len(args) > 1:
		return failure.Usage(cmd.CommandPath()+" "+args[0], "%s: want one file or job, not %d", cmd.CommandPath(), len(args))
	case len(args) == 1 && !isFile(args[0]):
		return f.ofJob(cmd.Context(), streams, args[0])
	}
	path := ""
	if len(args) == 1 {
		path = args[0]
	}
	text, name, until, err := eventsAt(path)
	if err != nil {
		return err
	}
	events, skipped, err := event.Read(bytes.NewReader(text))
	if err != nil {
		return failure.Usage("agent run --events=FILE writes such a file", "read events: %s: %w", name, err)
	}
	if skipped > 0 {
		sayer(streams.Err)("%s: lines that are no events, as a crash leaves them: %d", name, skipped)
	}
	t := timeline.Build(events, until)
	return f.print(streams, t, titleOf(path), goodput.Of(t))
}

// ofJob asks the agent in the pod of a job's launcher. If that does not run, it draws the record in the
// job's status.
func (f *timelineFlags) ofJob(ctx context.Context, streams Streams, name string) error {
	if err := jobs.CheckNames(name); err != nil {
		return err
	}
	api, err := open(f.where)
	if err != nil {
		return err
	}
	job, err := api.Job(ctx, name)
	if err != nil {
		return err
	}
	if record, ok := jobs.HistoryOf(job); ok {
		runs, err := api.LauncherRuns(ctx, job)
		if err != nil {
			return err
		}
		if !runs {
			return f.ofRecord(streams, job, record)
		}
	}
	if job.Spec.Launcher == nil {
		return failure.Usage(api.Line("get "+name)+" shows its status and its pods", "%s has no launcher: only a launcher records events", name)
	}
	verb := []string{"timeline"}
	if f.output != "" {
		verb = append(verb, "-o", f.output)
	}
	return runInLauncher(ctx, streams, f.where, name, verb...)
}

// isFile reports whether a word names a file, and not a job.
func isFile(word string) bool {
	info, err := os.Stat(word)
	return err == nil && !info.IsDir() || strings.ContainsAny(word, "./\\")
}

// eventsAt returns the events in a file, or those of the newest run here if path is "". name is that of
// the file. until is when the launcher was last seen alive, if that is known.
func eventsAt(path string) (text []byte, name string, until time.Time, err error) {
	if path == "" {
		text, name, until, err = eventsHere()
	} else {
		name = path
		text, err = os.ReadFile(path)
	}
	var perr *os.PathError
	if errors.As(err, &perr) {
		err = failure.Usage("name the file of agent run --events=FILE, or a job", "read events: %w", err)
	}
	return text, name, until, err
}

// titleOf returns the title of a page: the job of a launcher's pod, or the name of the file.
func titleOf(path string) string {
	if job := os.Getenv(names.EnvJob); path == "" && job != "" {
		return job
	}
	if path == "" {
		return "agent run"
	}
	return filepath.Base(path)
}

// print prints the timeline and the account in the format of -o. A page and a picture have the title.
func (f *timelineFlags) print(streams Streams, t *timeline.Timeline, title string, account goodput.Account) error {
	var text []byte
	var err error
	switch f.output {
	case "json":
		text, err = t.JSON(account)
	case "chrome":
		text, err = t.Chrome()
	case "html":
		text, err = t.HTML(title, account.Percent())
	case "svg":
		text = t.SVG(title)
	default:
		width, _, werr := term.GetSize(int(streams.Out.Fd()))
		if werr != nil || width <= 0 {
			width = usualWidth
		}
		view := t.Text(width)
		if share := account.Text(); share != "" {
			view += share + "\n"
		}
		_, err = fmt.Fprint(streams.Out, failure.Visible(view))
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(streams.Out, "%s\n", bytes.TrimSuffix(text, []byte("\n")))
	}
	return err
}

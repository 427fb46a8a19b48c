package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/agent/submit"
	"github.com/musterhq/muster/exec/heed"
	"github.com/musterhq/muster/exec/names"
)

const submitHelp = `usage: agent submit [KIND] --name=NAME --image=IMAGE [FLAGS] -- COMMAND...

Creates a LaunchJob. For mpirun, horovodrun and deepspeed it has a launcher and workers; for
other commands each worker starts the command. KIND (mpi, tfjob, pytorch...) and most flags
are Arena's. A COMMAND of one word that contains spaces is run by a shell.

  agent submit --name=pi --image=repo/pi:1 --workers=4 --gpus=8 -- mpirun ./pi
  agent submit pytorch --name=bert --image=repo/bert:2 --workers=4 --gpus=8 \
      --data=corpus:/data --sync-source=https://example.com/team/bert.git "python code/bert/train.py"
  agent submit --name=pi --image=repo/pi:1 --dry-run -- mpirun ./pi
                                            print the LaunchJob without a cluster
  agent submit ... --wait --logs --metric accuracy:PERCENTAGE -- mpirun python train.py
                                            exit with the job's result`

const submitCodes = `exit codes
  0         created; with --wait: Succeeded
  1..255    with --wait: code of the first failure, else 1
  64        usage error, or the API server rejected the job
  69        the cluster cannot be reached, or lacks the LaunchJob CRD
  75        with --wait: the job was still running after --timeout; it continues
  77        a permission is missing`

// submitFlags are the flags about the job and what to do with it.
type submitFlags struct {
	request     submit.Request
	where       jobs.Where
	launcher    bool
	user        int64
	dryRun      string
	output      string
	wait        bool
	logs        bool
	quiet       bool
	onSignal    bool // delete the job on a signal
	timeout     time.Duration
	metrics     []string
	metricsFile string
}

func newSubmit(streams Streams) *cobra.Command {
	f := &submitFlags{}
	cmd := &cobra.Command{
		Use:   "submit [KIND] [flags] -- COMMAND...",
		Short: "create a job",
		Long:  submitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.words(cmd, args); err != nil {
				return err
			}
			return f.run(cmd.Context(), streams)
		},
	}
	f.bind(cmd)
	return cmd
}

// words finds kind and command among the words of the command line.
func (f *submitFlags) words(cmd *cobra.Command, args []string) error {
	before, after := args, []string(nil)
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, after = args[:at], args[at:]
	}
	if len(before) > 0 && submit.IsKind(before[0]) {
		f.request.Kind, before = before[0], before[1:]
	}
	switch {
	case len(before) == 0:
		f.request.Command = after
	case len(before) == 1 && len(after) == 0 && strings.ContainsAny(before[0], " \t\n"):
		f.request.Command = before
	case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(before[0])):
		return failure.Usage(fileWay(before[0]), "unexpected argument %q before --", before[0])
	default:
		return failure.Usage("put -- before the command: agent submit [FLAGS] -- COMMAND...", "unexpected argument %q before --", before[0])
	}
	if cmd.Flags().Changed("launcher") {
		f.request.Launcher = &f.launcher
	}
	f.request.Run.Settings = launcherSettings(cmd, &f.request)
	if cmd.Flags().Changed("run-as-user") {
		f.request.RunAsUser = &f.user
	}
	return f.validate()
}

// launcherSettings returns the given flags that no field of a job can hold: those without a field, and
// the 0 that turns a default off. A launcher gets them from its environment.
func launcherSettings(cmd *cobra.Command, r *submit.Request) (given []submit.Setting) {
	fields := settings.Fields(r)
	for s := range settings.Of(settings.OfSubmit) {
		if s.Kind == settings.Rule || !cmd.Flags().Changed(s.Name) {
			continue
		}
		value := cmd.Flags().Lookup(s.Name).Value.String()
		off := slices.Contains([]string{"hang-after=0s", "max-no-progress=0"}, s.Name+"="+value)
		if fields[s.Name] == nil || off {
			given = append(given, submit.Setting{Flag: s.Name, Env: settings.Variable(s.Name), Value: value})
		}
	}
	return given
}

func (f *submitFlags) validate() error {
	if err := validateLaunch(&f.request); err != nil {
		return err
	}
	if err := failure.OneOf("--dry-run", f.dryRun, "", "client", "server", "none"); err != nil {
		return err
	}
	if err := failure.OneOf("-o", f.output, "", "json", "yaml", "name"); err != nil {
		return err
	}
	switch {
	case (f.logs || f.timeout != 0 || len(f.metrics) > 0) && !f.wait:
		return failure.Usage("add --wait", "--logs, --timeout and --metric require --wait")
	case f.onSignal && !f.wait:
		return failure.Usage("add --wait", "--delete-on-signal requires --wait")
	case f.timeout < 0:
		return failure.Usage("--timeout=12h", "--timeout=%s must not be negative", f.timeout)
	case f.metricsFile != "" && len(f.metrics) == 0:
		return failure.Usage("--wait --metric loss names a metric to write", "--metrics-file requires --metric")
	}
	if _, err := metrics.Parse(f.metrics); err != nil {
		return failure.Usage("want NAME, NAME:RAW or NAME:PERCENTAGE, as in --metric loss", "%w", err)
	}
	if f.metricsFile != "" {
		if err := outfile.Check(f.metricsFile, metrics.Ours); err != nil {
			return failure.Usage(outfile.Hint(err), "--metrics-file=%s: %w", f.metricsFile, err)
		}
	}
	return nil
}

// validateLaunch checks settings as the launcher will. Its own errors come when the cluster has given
// nodes to the job.
func validateLaunch(r *submit.Request) error {
	c := config.Defaults()
	c.Command, c.Framework, c.TopologyKeys = r.Command, framework.Spelled(r.Framework), r.Topology
	if r.Run.Procs > 0 {
		c.ProcsPerWorker, c.Origin = r.Run.Procs, map[string]string{"procs-per-worker": "flag"}
	}
	fields := settings.Fields(&c)
	for _, s := range r.Run.Settings {
		if err := settings.Set(fields[s.Flag], s.Value); err != nil {
			return fmt.Errorf("--%s=%s: %w", s.Flag, s.Value, err) // impossible: the flag has parsed it
		}
	}
	return c.ValidateValues()
}

func (f *submitFlags) run(ctx context.Context, streams Streams) error {
	f.request.Namespace = f.where.Namespace
	job, err := f.request.Job()
	if err != nil {
		return err
	}
	if f.dryRun == "client" {
		return f.show(streams, job, "created (dry run)", "yaml")
	}
	api, err := open(f.where)
	if err != nil {
		return err
	}
	job.Namespace = api.Namespace
	ctx, stop := heed.Context(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	made, err := create(ctx, api, job, f.dryRun == "server")
	if err != nil {
		return err
	}
	if f.dryRun == "server" {
		return f.show(streams, made, "created (server dry run)", "yaml")
	}
	said := streams
	if f.logs && f.output == "" {
		said.Out = streams.Err // stdout is for the job's output
	}
	if err := f.show(said, made, "created", ""); err != nil || !f.wait {
		return err
	}
	return f.await(ctx, api, made, streams)
}

// create creates the job. On interrupt it waits briefly for the answer of the API server, so that
// we can report or delete the job.
func create(ctx context.Context, api *jobs.API, job *v1alpha1.LaunchJob, dry bool) (*v1alpha1.LaunchJob, error) {
	const moment = 5 * time.Second
	answered, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(moment, cancel) })()
	return api.Create(answered, job, dry)
}

// show prints the job in the format of -o, by default in the format otherwise, else that it was
// created.
func (f *submitFlags) show(streams Streams, job *v1alpha1.LaunchJob, done, otherwise string) error {
	format := f.output
	if format == "" {
		format = otherwise
	}
	var err error
	switch format {
	case "":
		_, err = fmt.Fprintf(streams.Out, "launchjob.%s/%s %s\n", v1alpha1.Version().Group, job.Name, done)
	case "name":
		_, err = fmt.Fprintf(streams.Out, "launchjob.%s/%s\n", v1alpha1.Version().Group, job.Name)
	default:
		err = jobs.Print(streams.Out, job, format)
	}
	if err != nil {
		return failure.New(1, "", "print the job: %w", err)
	}
	return nil
}

// await waits for the end of the job, and returns its exit code as ours.
func (f *submitFlags) await(ctx context.Context, api *jobs.API, job *v1alpha1.LaunchJob, streams Streams) error {
	name := job.Name
	if f.timeout > 0 {
		late := failure.New(names.ExitDeadline, "", "job %s did not end within %s (--timeout)", name, f.timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, late)
		defer cancel()
	}
	shown := newLive(streams)
	w := jobs.Attendance{API: api, Job: name, UID: job.UID, Metrics: f.metrics, MetricsFile: f.metricsFile, Tagged: jobs.Tagged(job),
		Progress: shown.state, Say: shown.say, Warn: shown.say}
	if f.logs { // lines of the log come at any time
		w.Out, w.Progress = streams.Out, shown.say
	}
	if f.quiet {
		w.Say, w.Progress = func(string, ...any) {}, func(string, ...any) {}
	}
	code, seen, err := w.Run(ctx)
	shown.end()
	switch cause := context.Cause(ctx); {
	case err != nil && ctx.Err() != nil && cause != nil && errors.Is(err, cause):
		if f.onSignal && !isLate(cause) {
			return discard(api, name, job.UID, cause)
		}
		return stopped(api, name, cause, seen)
	case err != nil:
		return err
	case code != 0:
		return exitCode(code)
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/doctor"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/terminal"
)

const doctorHelp = `usage: agent doctor [JOB] [-o json]

Checks what jobs need, and says what to do about the rest. With JOB it checks the cluster, the job
and its workers. Without JOB it checks what is here: the workers of the launcher in this pod, this
worker's container, or the cluster of the kubeconfig. It changes nothing. It exits with 1 if a
check failed; warnings and unknown results do not count.

  agent doctor
  agent doctor bert
  agent doctor bert -o json
  agent doctor --fake=4      this machine, for agent run --fake=4`

// usualFake is the number of workers of --fake without a number.
const usualFake = 2

type doctorFlags struct {
	where   jobs.Where
	fake    int
	output  string
	color   string
	verbose bool
}

func newDoctor(streams Streams) *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{Use: "doctor [flags] [JOB]", Short: "check what jobs need", Long: doctorHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, streams) }
	var groups []group
	set := addGroup(&groups, "output")
	set.StringVarP(&f.output, "output", "o", "", "print in `FORMAT`: json")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "print what is ok, too")
	set.StringVar(&f.color, "color", "auto", "use color `WHEN`: auto, always or never")
	set = addGroup(&groups, "this machine")
	set.IntVar(&f.fake, "fake", 0, "check this machine for `N` fake workers")
	set.Lookup("fake").NoOptDefVal = strconv.Itoa(usualFake)
	whereFlags(addGroup(&groups, "the cluster"), &f.where)
	bindGroups(cmd, groups)
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command, args []string, streams Streams) error {
	fake := cmd.Flags().Changed("fake")
	if fake && len(args) > 0 && isNumber(args[0]) { // --fake 4, as agent run takes it
		f.fake, _ = strconv.Atoi(args[0])
		args = args[1:]
	}
	job := ""
	switch {
	case fake && f.fake < 1:
		return failure.Usage("--fake=2 starts two workers on this machine", "--fake=%d starts no worker", f.fake)
	case fake && len(args) > 0:
		return failure.Usage("omit --fake, or omit "+args[0], "--fake checks this machine, not the job %s", args[0])
	case len(args) > 0:
		var err error
		if job, err = oneName(cmd, args); err != nil {
			return err
		}
	}
	if err := failure.OneOf("-o", f.output, "json", ""); err != nil {
		return err
	}
	colored, err := wantsColor(f.color, streams)
	if err != nil {
		return err
	}
	found, err := f.check(cmd.Context(), cmd.Flags(), job, fake)
	if err != nil {
		return err
	}
	check.Sort(found)
	if f.output == "json" {
		err = printFindings(streams.Out, found)
	} else {
		err = findingsPrinter{colored: colored, verbose: f.verbose}.print(streams.Out, found)
	}
	if err == nil && check.Worst(found) == check.Fail {
		return exitCode(1)
	}
	return err
}

// check checks what the command line names, or else what is here. A launcher or a worker that is
// here does not matter if a flag selects a cluster.
func (f *doctorFlags) check(ctx context.Context, set *pflag.FlagSet, job string, fake bool) ([]check.Finding, error) {
	cluster := job != "" || set.Changed("namespace") || set.Changed("context") || set.Changed("kubeconfig")
	switch {
	case fake:
		return fakeHere(ctx, f.fake)
	case cluster:
		return f.cluster(ctx, job)
	case launcherIsHere():
		found, err := askLauncher()
		return append(found, f.launcherRights(ctx)...), err
	}
	if worker := workerIsHere(); worker != "" {
		return workerHere(ctx, worker)
	}
	return f.cluster(ctx, "")
}

// cluster checks the cluster, and a job in it unless job is "".
func (f *doctorFlags) cluster(ctx context.Context, job string) ([]check.Finding, error) {
	api, err := open(f.where)
	if err != nil {
		var hinted *failure.Failure
		errors.As(err, &hinted)
		return doctor.NoCluster(strings.TrimPrefix(err.Error(), "find the cluster: "), hinted.Hint()), nil
	}
	found, subject, err := doctor.Cluster(ctx, api, job)
	if err != nil || subject == nil || jobs.Over(subject) {
		return found, err
	}
	return append(found, workersOf(ctx, api, subject)...), nil
}

// workersOf asks the launcher of a job to check its workers, by running `agent doctor` in its pod.
func workersOf(ctx context.Context, api *jobs.API, job *v1alpha1.LaunchJob) []check.Finding {
	unasked := func(why string) []check.Finding {
		return []check.Finding{{Check: "exec", Of: job.Name, Verdict: check.Unknown, Found: "the workers were not checked: " + why}}
	}
	if job.Spec.Launcher == nil {
		return unasked("only a launcher can ask all workers, and the job has none")
	}
	text, err := inLauncher(ctx, api, job.Name, "doctor", "-o", "json")
	var exit *terminal.ExitError
	var found []check.Finding
	switch {
	case err != nil && (!errors.As(err, &exit) || exit.Code != 1):
		return unasked(strings.Join(strings.Fields(err.Error()), " "))
	case json.Unmarshal(text, &found) != nil:
		return unasked("the agent in the launcher's pod does not know agent doctor; its image has another release")
	}
	return found
}

// inLauncher runs the agent in the pod of a job's launcher, and returns what it prints.
func inLauncher(ctx context.Context, api *jobs.API, job string, args ...string) ([]byte, error) {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer nothing.Close()
	discard, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer discard.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(out, mostFindings))
		_, _ = io.Copy(io.Discard, out) // the writer must not block
		done <- read{text, err}
	}()
	err = api.Attach(ctx, jobs.Attach{Job: job, Launcher: true, In: nothing, Out: in, Err: discard, Argv: append([]string{names.AgentPath}, args...)})
	in.Close()
	got := <-done
	if err == nil {
		err = got.err
	}
	return got.text, err
}

// mostFindings bounds the findings of a launcher in bytes: 10,000 workers with some each.
const mostFindings = 64 << 20

// launcherRights checks the rights of the account in this pod, if this is the launcher of a
// LaunchJob. A launcher on a laptop uses the rights of its user.
func (f *doctorFlags) launcherRights(ctx context.Context) []check.Finding {
	if os.Getenv(names.EnvJob) == "" || os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return nil
	}
	api, err := open(f.where)
	if err != nil {
		return check.NotChecked(err.Error(), "rights")
	}
	pods, byName := workersHere()
	return doctor.Launcher(ctx, api, byName, pods)
}

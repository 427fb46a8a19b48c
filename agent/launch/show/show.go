package show

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
)

// Env runs `agent env`: it prints export lines for what `agent run` exports. It uses the plan of
// the launcher that runs here, or else one made from cfg. With explain, it prints each variable's
// value, its reason, and where the settings come from, and masks values whose names look like
// secrets.
func Env(ctx context.Context, cfg config.Config, site Site, w io.Writer, explain bool) error {
	planned, running, err := currentPlan(ctx, cfg, site)
	if err != nil {
		return err
	}
	set, warnings := planned.Settle(os.Environ())
	shims, err := files.ShimVars(cfg, planned, os.Environ())
	if err != nil {
		return err
	}
	set, planned.Vars = append(set, shims...), append(planned.Vars, shims...)
	if explain {
		explainPlan(w, cfg, planned, running, warnings)
		return nil
	}
	if !running && len(planned.Processes) > 0 {
		printProcesses(w, cfg, planned)
		return nil
	}
	for _, v := range set {
		fmt.Fprintf(w, "export %s=%s\n", v.Name, phrase.QuoteAlways(v.Value))
	}
	return nil
}

// currentPlan returns the plan of the launcher that runs here, unless the flags name other workers.
// Otherwise it makes a plan from cfg without waiting for workers.
func currentPlan(ctx context.Context, cfg config.Config, site Site) (planned plan.Plan, running bool, err error) {
	if !asksForWorkers(cfg) {
		if socket, err := rundir.Broker(); err == nil && alive(socket) {
			planned, err := files.LoadPlan(socket)
			return planned, true, err
		}
	}
	if worker := os.Getenv(names.EnvWorker); worker != "" && !asksForWorkers(cfg) {
		return planned, false, failure.Usage("run it in the launcher; on the workers, --framework=plain sets MUSTER_ADDRESSES to all addresses in rank order",
			"no launcher runs here: this is worker %s", worker)
	}
	if !cfg.SelectsWorkers() {
		return planned, false, failure.Usage("run it beside agent run, as the same user; or select workers: --fake=4, or --job=NAME", "no launcher runs here")
	}
	cfg.Workers = max(cfg.Workers, cfg.LeastWorkers, 1) // the existing workers are listed, not waited for
	planned, err = imagine(ctx, cfg, site)
	return planned, false, err
}

// alive reports whether a broker answers at socket. A socket file alone proves nothing.
func alive(socket string) bool {
	_, err := rsh.Hosts(socket)
	return err == nil
}

// asksForWorkers reports whether flags name workers. Variables of the pod do not count.
func asksForWorkers(cfg config.Config) bool {
	for _, name := range []string{"fake", "workers", "selector", "job"} {
		if strings.HasPrefix(cfg.Origin[name], "flag") {
			return true
		}
	}
	return false
}

func explainPlan(w io.Writer, cfg config.Config, planned plan.Plan, running bool, warnings []string) {
	from := "no launcher runs here; these values come from the flags"
	if running {
		from = "from the launcher behind " + planned.Broker
	}
	fmt.Fprintf(w, "# %s\n", from)
	if len(planned.Processes) > 0 {
		explainProcesses(w, planned)
		warnings = planned.Warnings // the launcher's variables are for commands typed by hand
	} else {
		for _, v := range planned.Vars {
			fmt.Fprintf(w, "%s=%s\n    %s\n", v.Name, shownValue(v), v.Why)
		}
	}
	explainInterfaces(w, planned.Hosts)
	for _, warning := range warnings {
		fmt.Fprintf(w, "# kept: %s\n", warning)
	}
	if running {
		return
	}
	if len(planned.Processes) > 0 && len(cfg.Asked()) > 0 {
		fmt.Fprintf(w, "# variables of the workers' images are unknown until agent run has reached the workers; they are kept too\n")
	}
	fmt.Fprintf(w, "\n# settings\n")
	for _, s := range []struct{ flag, value string }{
		{"workers", fmt.Sprint(cfg.Workers)}, {"fake", fmt.Sprint(cfg.Fake)}, {"slots", fmt.Sprint(cfg.Slots)},
		{"job", cfg.Job}, {"selector", cfg.Selector}, {"namespace", cfg.Namespace}, {"hostfile", cfg.Hostfile},
		{"framework", cfg.Framework}, {"roles", cfg.Roles}, {"interface", cfg.Interface},
	} {
		fmt.Fprintf(w, "%-10s %-20s %s\n", s.flag, s.value, cfg.Origin[s.flag])
	}
}

// shownValue returns a variable's value for people.
func shownValue(v framework.Var) string {
	if framework.LooksSecret(v.Name) {
		return "***"
	}
	return phrase.Quote(v.Value)
}

// DryRun runs `agent run --dry-run`: it prints the environment, the hostfile and the command.
func DryRun(ctx context.Context, cfg config.Config, site Site, to io.Writer) error {
	w := &bytes.Buffer{}
	if err := dryRunInto(ctx, cfg, site, w); err != nil {
		return err
	}
	if _, err := to.Write(w.Bytes()); err != nil {
		return console.Unwritable(console.Called(console.StandardOutput, err))
	}
	return nil
}

func dryRunInto(ctx context.Context, cfg config.Config, site Site, w *bytes.Buffer) error {
	planned, err := imagine(ctx, cfg, site)
	if err != nil {
		return err
	}
	if len(planned.Processes) > 0 {
		printProcesses(w, cfg, planned)
		return nil
	}
	set, _ := planned.Settle(os.Environ())
	shims, err := files.ShimVars(cfg, planned, os.Environ())
	if err != nil {
		return err
	}
	for _, v := range append(set, shims...) {
		fmt.Fprintf(w, "export %s=%s\n", v.Name, phrase.QuoteAlways(v.Value))
	}
	fmt.Fprintf(w, "\n# %s\n", planned.Hostfile)
	for _, h := range planned.All() {
		fmt.Fprintf(w, "# %s slots=%d\n", h.Host, h.Slots)
	}
	argv := cfg.Command
	if len(planned.Argv) > 0 {
		argv = planned.Argv
	}
	fmt.Fprintf(w, "\n%s\n", phrase.QuoteAll(argv))
	return nil
}

// Stacks runs `agent stacks` beside a launcher: it prints where the ranks with these numbers stand,
// or all ranks if there are none.
func Stacks(w io.Writer, ranks []string) error {
	socket, err := rundir.Broker()
	if err != nil {
		return failure.Usage("run it beside agent run, as the same user; from anywhere else: agent stacks JOB", "no launcher runs here")
	}
	lines, err := rsh.Stacks(socket, ranks)
	if err != nil {
		return failure.Usage("run it beside agent run, as the same user", "ask the launcher: %w", err)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, failure.Visible(line)); err != nil {
			return console.Unwritable(console.Called(console.StandardOutput, err))
		}
	}
	return nil
}

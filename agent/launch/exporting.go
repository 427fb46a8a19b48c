//go:build linux

package launch

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/musterhq/muster/agent/launch/export"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/heed"
	"github.com/musterhq/muster/exec/names"
)

// beginExport starts agent-exporter if metrics or traces are wanted. The run does not need it.
func (r *runner) beginExport() {
	if !r.cfg.ServesMetrics() && !r.trace.Root.Valid() {
		return
	}
	var args []string
	if r.cfg.ServesMetrics() {
		args = append(args, "--metrics-addr="+r.cfg.MetricsAddr)
	}
	path := export.Path(r.agent)
	var err error
	r.exporter, err = export.Start(export.Config{Reaper: r.reaper, Path: path, Args: args, Env: r.exporterEnv(),
		Attempt: r.record.Attempt, Voice: r.voice, Log: r.log})
	if err != nil {
		r.voice.Warn("no metrics and traces of this run: %s", phrase.OneLine(err))
		r.voice.Hint("copy agent-exporter from Muster's image to " + filepath.Dir(path) + ", or run make build in a checkout")
		return
	}
	r.exporter.Measure("waiting", r.record.Sample)
	r.record.Follow(r.exporter)
}

// exporterEnv returns the environment of agent-exporter: that of the launcher, with the ids of the run's
// spans and the names of the job.
func (r *runner) exporterEnv() []string {
	job := []string{names.EnvJob + "=" + r.cfg.Job, names.EnvNamespace + "=" + r.cfg.Namespace}
	return r.trace.Exporter(plan.WithAssignments(os.Environ(), job))
}

// hold takes signals and reaps children until release is called. release also ends agent-exporter. A
// signal that comes meanwhile only ends the wait for it.
func (r *runner) hold(ctx context.Context) (release func()) {
	// SIGPIPE must be caught. By default it would end the launcher when nothing reads our stderr
	// any more, and leave everything behind. If it were ignored, the command would inherit that.
	heed.Notify(r.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	reaping, stopReaper := context.WithCancel(context.WithoutCancel(ctx))
	var reaper sync.WaitGroup
	reaper.Go(func() {
		if err := r.reaper.Run(reaping); err != nil {
			r.log.Error("reaper", "error", err)
		}
	})
	return func() {
		r.endExport()
		stopReaper()
		reaper.Wait()
		signal.Stop(r.signals) // nothing runs any more, so a signal may end us while nothing reads stderr
		r.voice.Finish(ctx)
		signal.Stop(broken)
	}
}

// endExport waits for agent-exporter to pass on the rest.
func (r *runner) endExport() {
	if r.exporter == nil {
		return
	}
	ctx, stop := r.untilSignal(context.Background())
	defer stop()
	r.exporter.Close(ctx)
}

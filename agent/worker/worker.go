//go:build linux

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/network/listener"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// Config is the configuration of the worker role.
type Config struct {
	Job     string
	Slots   int
	Version string
	Await   time.Duration // 0: forever
	// Grace is the time between TERM and KILL when the worker is told to stop from outside. The
	// kubelet kills after the pod's grace period, so leave some time to deliver the exit codes.
	// Unless GraceGiven is set, the grace period that the launcher reports takes precedence, and
	// Grace is the fallback.
	Grace      time.Duration
	GraceGiven bool
	// TerminationLog is the path for the last words. It may be missing or not writable.
	TerminationLog string
	// KeyFile is the path of the worker's key of the job, and Listen the address for launchers that
	// connect by network. Without a key, the worker does not listen.
	KeyFile, Listen string
	Log             *slog.Logger
}

// Run is the worker role. It returns the exit code, and an error if the worker could not start or
// its socket failed.
func Run(ctx context.Context, cfg Config) (int, error) {
	// Take signals first: until then, TERM ends PID 1 with exit code 2.
	signals := TakeSignals()
	defer signals.GiveBack()
	if os.Getpid() != 1 {
		// With shareProcessNamespace, or in a fake worker, orphans must come to us too.
		if err := reap.Subreaper(); err != nil {
			return names.ExitBug, err
		}
		cfg.Log.Debug("not PID 1 here: a subreaper, which collects and stops what descends from it", "pid", os.Getpid())
	}
	dir, err := rundir.Create()
	if err != nil {
		return names.ExitUsage, err
	}
	path := filepath.Join(dir, names.WorkerSocket)
	ln, err := rundir.Listen(path)
	if err != nil {
		return names.ExitUsage, err
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" && os.Getenv(names.EnvFake) == "" {
		linkKubexec(filepath.Join(names.MPIDir, "kubexec.sh"))
	}
	temp, err := rundir.Temp(dir)
	if err != nil {
		return names.ExitUsage, err
	}
	w, err := newRole(cfg, dir, temp)
	if err != nil {
		return names.ExitUsage, err
	}
	cfg.Log.Info("awaiting a launcher", "socket", path, "version", cfg.Version)
	code, words, err := w.run(ctx, ln, signals)
	if cerr := rundir.Clear(dir); cerr != nil {
		cfg.Log.Warn("cannot remove temporary files", "err", cerr)
	}
	cfg.Log.Info("the worker ends", "why", words)
	LastWords(cfg.TerminationLog, "agent worker: "+words)
	return code, err
}

// role is a running worker.
type role struct {
	cfg    Config
	reaper *reap.Reaper
	server *session.Server

	network *listener.Listener // nil: none
}

func newRole(cfg Config, dir, temp string) (*role, error) {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/"
	}
	env, instance := Environment(os.Environ(), dir, temp), wire.NewID()
	outside, err := cfg.listenNetwork(dir, env, instance)
	if err != nil {
		return nil, err
	}
	r := &role{cfg: cfg, reaper: reap.New(), network: outside}
	var network session.Network // not a nil *Listener
	if outside != nil {
		network = outside
	}
	r.server = session.New(session.Config{
		Job: cfg.Job, Version: cfg.Version, Slots: cfg.Slots, Env: env, Dir: cwd, Instance: instance, Network: network,
		SpoolDirs: rundir.SpillDirs(dir), PythonDir: layStacks(cfg, dir), Reaper: r.reaper, OOMScore: RankOOMScore(), Log: cfg.Log, Await: cfg.Await,
		OnPodGrace: cfg.warnOfGrace,
	})
	r.reaper.OnOrphan = r.server.Orphaned
	return r, nil
}

// layStacks writes the module by which Python ranks report their stacks. If it fails, stacks lack
// the Python frames.
func layStacks(cfg Config, dir string) string {
	path, err := rundir.Laid(dir)
	if err == nil {
		err = stacks.Lay(path)
	}
	if err != nil {
		cfg.Log.Warn("cannot show the stacks of Python ranks", "err", err)
		return ""
	}
	return path
}

// run serves until the work is over. It returns the exit code and the last words, after every
// process of the sessions has ended.
func (r *role) run(ctx context.Context, ln *net.UnixListener, signals Signals) (int, string, error) {
	// The stop has its own context: what ends the service must still be able to stop the sessions
	// in order.
	serve, endServe := context.WithCancel(context.WithoutCancel(ctx))
	defer endServe()
	collect, endCollect := context.WithCancel(context.WithoutCancel(ctx))
	defer endCollect()
	var wg sync.WaitGroup
	served, collected := make(chan error, 1), make(chan error, 1)
	wg.Go(func() { collected <- r.reaper.Run(collect) })
	wg.Go(func() { served <- r.server.Serve(serve, ln) })
	wg.Go(func() { Forward(serve, signals.Passed, r.server.Signal) })
	wg.Go(func() { proc.Settle(serve) })

	code, words := 0, "the job is over"
	select {
	case o := <-r.server.Outcome():
		switch o {
		case session.NoLaunch:
			r.leave(ctx, wire.ReasonLease)
			code, words = names.ExitDeadline, fmt.Sprintf("no launcher came within %s", r.cfg.Await)
		case session.Deaf:
			r.leave(ctx, wire.ReasonFailed)
			code, words = names.ExitBug, "launchers could no longer connect"
		case session.Replaced:
			code, words = names.ExitReplaced, names.ReplacedWords(r.server.ReplacedWhy())
		}
		r.relay(ctx, signals.Stop)
	case s := <-signals.Stop:
		code, words = r.stopped(ctx, s.(syscall.Signal), signals.Stop)
	case <-ctx.Done():
		code, words = r.stopped(ctx, syscall.SIGTERM, signals.Stop)
	}
	endServe()
	err := <-served
	endCollect()
	err = errors.Join(err, <-collected)
	wg.Wait()
	if err != nil && code == 0 {
		code = names.ExitBug
	}
	return code, words, err
}

// relayTime is how long a worker that is done carries connections to workers behind it, which may
// still stop their processes.
const relayTime = 30 * time.Second

// relay waits for workers behind this one.
func (r *role) relay(ctx context.Context, signals <-chan os.Signal) {
	if r.network == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, relayTime)
	defer cancel()
	select {
	case <-r.network.Carried():
	case <-signals:
	case <-ctx.Done():
	}
}

// stopped stops the sessions after a signal from outside. A second signal kills at once.
func (r *role) stopped(ctx context.Context, sig syscall.Signal, signals <-chan os.Signal) (int, string) {
	live := r.server.Sessions()
	grace := r.cfg.grace(r.server.Grace(), r.server.PodGrace())
	if live > 0 {
		r.cfg.Log.Info("told to stop", "signal", sig.String(), "sessions", live, "grace", grace)
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+5*time.Second)
	defer cancel()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-signals:
			r.cfg.Log.Info("told to stop again: at once")
			cancel()
		case <-done:
		}
	})
	r.server.Preempt(stop, sig, grace)
	close(done)
	wg.Wait()
	if live == 0 {
		return 0, "told to stop while nothing ran"
	}
	return 128 + int(sig), fmt.Sprintf("told to stop by %s while %d sessions ran", sig, live)
}

// grace returns the launcher's grace if it was given, else ours if that was given, else the one for
// the pod's grace period if a launcher has reported it.
func (c Config) grace(launcher, period time.Duration) time.Duration {
	if c.GraceGiven && !c.tooLong(period) {
		return cmp.Or(launcher, c.Grace)
	}
	return cmp.Or(launcher, names.Grace(period), c.Grace)
}

// tooLong reports whether the kubelet would kill the pod, whose grace period is period, before our
// --grace is over. 0 means not known.
func (c Config) tooLong(period time.Duration) bool {
	return c.GraceGiven && period > 0 && c.Grace > period
}

// warnOfGrace warns that a --grace cannot be kept. The worker learns the pod's grace period only
// from its launcher, too late to refuse the flag.
func (c Config) warnOfGrace(period time.Duration) {
	if c.tooLong(period) {
		c.Log.Warn(fmt.Sprintf("--grace=%s is longer than the grace period of this pod, %s: using %s", c.Grace, period, names.Grace(period)),
			"hint", fmt.Sprintf("omit --grace, or set terminationGracePeriodSeconds: %.0f in the pod's template", (c.Grace+5*time.Second).Seconds()))
	}
}

// leave stops the live sessions, for reason, and processes that escaped from finished sessions.
// Unless this process is PID 1, its end would not end those.
func (r *role) leave(ctx context.Context, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Grace+5*time.Second)
	defer cancel()
	r.server.Stop(ctx, reason, r.cfg.Grace)
}

// linkKubexec makes the agent available at the path of mpi-operator v1's script. MPI daemons look
// for their launcher's rsh agent on workers too, and crash or hang without it. An existing file of
// the image stays. A read-only image works as long as no process uses that path.
func linkKubexec(path string) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		_ = os.Symlink(self, path)
	}
}

// Environment returns the environment of our processes: the container's, with the worker's name and
// a HOME, and a TMPDIR if temp is not empty. Open MPI 4 crashes without HOME if the user has no
// passwd entry.
func Environment(env []string, home, temp string) []string {
	value := map[string]string{}
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			value[k] = v
		}
	}
	env = env[:len(env):len(env)]
	if value["HOME"] == "" {
		env = append(env, "HOME="+home)
	}
	if value["TMPDIR"] == "" && temp != "" {
		env = append(env, "TMPDIR="+temp)
	}
	if value[names.EnvWorker] == "" {
		name := value[names.EnvPodName]
		if name == "" {
			name, _ = os.Hostname() // a worker without a name is better than none
		}
		env = append(env, names.EnvWorker+"="+name)
	}
	return env
}

// LastWords writes why a container's first process ended to the file that the kubelet reads. path
// may be "", missing or not writable: the log has the words too.
func LastWords(path, words string) {
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(words + "\n")
}

//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

const (
	envFake = names.EnvFake
	// envWorker tells programs which worker they run on.
	envWorker = "MUSTER_WORKER"
	// fakeTime ends fake workers soon after the launcher was killed, because no kubelet would.
	// leastAwait is how long a busy machine may take to start them.
	fakeTime   = time.Minute
	leastAwait = 10 * time.Second
)

// FakeLease returns the lease of fake workers. It is shorter than in a cluster, unless the user
// sets it.
func FakeLease(cfg config.Config) time.Duration {
	if cfg.Origin["lease"] == "default" {
		return fakeTime
	}
	return cfg.Lease
}

// fakeAwait returns how long a fake worker without a session stays when it hears nothing. It is no
// longer than for a worker with a session.
func fakeAwait(cfg config.Config) time.Duration {
	return min(fakeTime, max(leastAwait, FakeLease(cfg)))
}

// FakeDir returns the directory of worker i below the run's directory.
func FakeDir(dir string, i int) string { return filepath.Join(dir, "w"+strconv.Itoa(i)) }

// Fakes is the fleet of --fake: worker processes on this machine.
type Fakes struct {
	cfg     config.Config
	reaper  *reap.Reaper
	faults  []config.Fault
	place   FakePlace
	network *Network // nil: links use the workers' sockets
	record  *record.Log
	Links   *Links // to the workers
	Voice   *console.Voice
	Signals <-chan os.Signal
	Seats   *rendezvous.Seats        // of a run with spares; nil: no spares
	Barred  func(worker string) bool // a worker that is not used again; nil: none
	wg      sync.WaitGroup

	mu      sync.Mutex
	workers []*fakeWorker // by index
	closed  bool          // no more may join
}

// FakePlace holds the run's directory, the path of the agent, and the run's id.
type FakePlace struct{ Dir, Agent, Run string }

type fakeWorker struct {
	rendezvous.Worker
	watched bool // await watches it
	leaving bool // it was told to stop; like watched, only for the goroutine of the run
	renewed bool // another process is about to replace it; also only for that goroutine
	dir     string
	proc    *reap.Process
	tree    *reap.Tree
	line    *faulty
	ended   chan struct{} // closed when it is told to end: its end is then no loss
}

// static describes n workers. What the user has set on them is the launcher's own environment.
func static(n int) ([]rendezvous.Worker, error) {
	list, err := rendezvous.Static(n)
	env := plan.WithoutMuster(os.Environ())
	for i := range list {
		list[i].Env = env
	}
	return list, err
}

// ListFakes returns the fake workers that a run would start, for `agent env` and `agent hosts`.
func ListFakes(_ context.Context, cfg config.Config, _, _ string) ([]rendezvous.Worker, error) {
	return static(cfg.Fake)
}

// StartFakes starts cfg.Fake workers below the run's directory. Each has its own directory, TMPDIR
// and log. hello is the first message to each worker.
func StartFakes(r *reap.Reaper, cfg config.Config, hello wire.HelloRecord, place FakePlace, log *record.Log) (*Fakes, error) {
	list, err := static(cfg.Fakes())
	if err != nil {
		return nil, err
	}
	faults, err := config.ParseFaults(cfg.FakeFaults, cfg.Fakes()+cfg.Coming())
	if err != nil {
		return nil, err
	}
	f := &Fakes{cfg: cfg, reaper: r, faults: faults, place: place, record: log}
	if err := f.listen(hello); err != nil {
		return nil, err
	}
	for i, w := range list {
		one, err := f.start(i, w)
		if err != nil {
			return nil, errors.Join(err, f.Sweep(context.Background()))
		}
		f.workers = append(f.workers, one)
	}
	return f, nil
}

// start starts worker i and creates its dialer.
func (f *Fakes) start(i int, w rendezvous.Worker) (*fakeWorker, error) {
	one, err := f.spawn(FakeDir(f.place.Dir, i), w)
	if err == nil {
		f.record.Worker(event.PodCreated, w.Name, w.Node, "")
		f.record.Worker(event.ContainerStarted, w.Name, w.Node, "")
		one.line = newFaulty(&patient{inner: f.way(one)}, i, f.faults)
	}
	return one, err
}

// spawn starts the process of a worker in a directory of its own.
func (f *Fakes) spawn(dir string, w rendezvous.Worker) (*fakeWorker, error) {
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("make fake worker: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make fake worker: %w", err)
	}
	defer log.Close()
	// The restart count keeps a stop of the previous incarnation from matching this one.
	marker := fmt.Sprintf("%s-%d-%s", f.place.Run, w.Restarts, w.Name)
	env := plan.WithVars(plan.WithoutMuster(os.Environ()), append(append(framework.FakeWorker(tmp), f.listening()...),
		framework.Var{Name: names.EnvDir, Value: dir},
		framework.Var{Name: names.EnvSlots, Value: strconv.Itoa(f.cfg.Slots)},
		framework.Var{Name: envWorker, Value: w.Name},
		framework.Var{Name: envFake, Value: marker},
	))
	proc, err := f.reaper.Start(reap.Spec{
		Path: f.place.Agent, Argv: []string{f.place.Agent, "worker", "--await", fakeAwait(f.cfg).String()}, Env: env,
		Files: []*os.File{nil, log, log}, Setsid: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start fake worker %s: %w", w.Name, err)
	}
	one := &fakeWorker{Worker: w, dir: dir, proc: proc, tree: f.reaper.Table(envFake).Tree(marker), ended: make(chan struct{})}
	one.tree.Add(proc)
	return one, nil
}

// patient dials a worker that was just started until it listens. Otherwise a link would wait 0.25 s
// before it redials. A worker that listened before, and no longer does, is gone.
type patient struct {
	inner link.Dialer
	came  atomic.Bool
}

// Dial implements link.Dialer.
func (p *patient) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	const tries, pause = 100, 10 * time.Millisecond
	for i := 0; ; i++ {
		c, err := p.inner.Dial(ctx)
		if err == nil {
			p.came.Store(true)
		}
		if err == nil || i == tries || p.came.Load() || !wait.Sleep(ctx, pause) {
			return c, err
		}
	}
}

// Dialer implements Dialers.
func (f *Fakes) Dialer(w rendezvous.Worker) link.Dialer { return f.all()[w.Index].line }

// all returns the current workers.
func (f *Fakes) all() []*fakeWorker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.workers)
}

// Gather waits until every fake worker has answered, except spares.
func (f *Fakes) Gather(ctx context.Context) ([]rendezvous.Worker, error) {
	if f.Seats != nil {
		return f.awaitSeats(ctx)
	}
	var workers []rendezvous.Worker
	for _, w := range f.all() {
		workers = append(workers, w.Worker)
		f.Links.Follow(ctx, w.Worker)
		if !w.watched {
			w.watched = true
			f.wg.Go(func() { f.watch(ctx, w) })
		}
	}
	deadline, stop := wait.Limit(f.cfg.Timeout)
	defer stop()
	for {
		ready := 0
		var last error
		for _, s := range f.Links.Standings() {
			switch {
			case s.Err != nil:
				return nil, failure.New(names.ExitHopeless, f.lastLine(s.Worker), "fake worker %s did not start: %s", s.Worker.Name, CauseOf(s.Err))
			case s.State.Linked:
				ready++
			default:
				last = s.State.Last
			}
		}
		if ready == len(workers) {
			return workers, nil
		}
		select {
		case <-f.Links.Changed:
		case sig := <-f.Signals:
			if err := ToldWhileWaiting(sig); err != nil {
				return nil, err
			}
		case <-deadline:
			if last == nil {
				last = errors.New("no answer yet")
			}
			return nil, failure.New(names.ExitDeadline, "--timeout sets how long to wait", "wait for workers: %d of %d are ready: %w", ready, len(workers), last)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// watch marks the worker as lost when its process has ended by itself.
func (f *Fakes) watch(ctx context.Context, w *fakeWorker) {
	select {
	case <-w.proc.Done():
	case <-ctx.Done():
		return
	}
	select {
	case <-w.ended:
		if wait.Sleep(ctx, time.Second) { // its answer may be on its way
			f.Links.LoseWorker(w.Worker, errors.New("its agent has ended"))
		}
	default:
		status := w.proc.Status()
		cause := errors.New("its agent " + phrase.HowEnded(status.Code, int(status.Signal)))
		if status.Signal == 0 && slices.Contains([]int{0, 128 + int(syscall.SIGTERM), 128 + int(syscall.SIGINT)}, status.Code) {
			cause = &Departure{cause}
		}
		f.Links.LoseWorker(w.Worker, cause)
	}
}

// lastLine returns the end of a fake worker's log, for a hint.
func (f *Fakes) lastLine(w rendezvous.Worker) string {
	text, err := os.ReadFile(filepath.Join(f.all()[w.Index].dir, "log"))
	if err != nil {
		return ""
	}
	return lastWordsIn(string(text))
}

// crashes are the prefixes of the first line that Go's runtime prints when a program crashes.
var crashes = []string{"runtime: ", "fatal error: ", "panic: "}

// lastWordsIn returns the last error message in an agent's log, or what its runtime printed at a
// crash, or else the log's last line.
func lastWordsIn(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	last := lines[len(lines)-1]
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "agent: "); ok {
			last = rest
		}
		if slices.ContainsFunc(crashes, func(word string) bool { return strings.HasPrefix(line, word) }) {
			last = line // the rest is stacks
			break
		}
	}
	return strings.TrimPrefix(last, "hint: ")
}

// Rehearse carries out the faults that are due at a time, counted from now, until ctx ends.
func (f *Fakes) Rehearse(ctx context.Context) {
	for _, fault := range f.faults {
		if fault.After == 0 {
			continue
		}
		f.wg.Go(func() {
			if !wait.Sleep(ctx, fault.After) {
				return
			}
			if fault.Verb == "join" {
				f.Voice.Say("injecting a fault: a worker joins")
				f.joinOne()
				return
			}
			for i, w := range f.all() {
				if fault.Hits(i) {
					f.Voice.Say("injecting a fault: %s worker %s", fault.Verb, w.Name)
					f.wg.Go(func() { f.strike(ctx, fault, w) })
				}
			}
		})
	}
}

func (f *Fakes) strike(ctx context.Context, fault config.Fault, w *fakeWorker) {
	switch fault.Verb {
	case "drop":
		w.line.drop()
	case "stall":
		w.line.stall(ctx, fault.For)
	case "kill":
		// Kill all at once, as when a container's PID 1 is killed. The scan finds the same tree a
		// moment later.
		_ = w.proc.Signal(syscall.SIGKILL) // already gone: as rehearsed
		_, _ = f.reaper.Stop(ctx, w.tree.Find, 0)
	}
}

// OneMachine returns true.
func (f *Fakes) OneMachine() bool { return true }

// Release announces that the workers are about to be told that the job is over.
func (f *Fakes) Release() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for _, w := range f.all() {
		close(w.ended)
	}
	f.quit()
}

// Sweep ends what is left of the workers, and waits for it.
func (f *Fakes) Sweep(ctx context.Context) error {
	f.network.Close()
	const patience = 2 * time.Second
	leave, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for _, w := range f.all() {
		select {
		case <-w.proc.Done():
		case <-leave.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
	defer cancel()
	var errs []error
	for _, w := range f.all() {
		if _, err := f.reaper.Stop(ctx, w.tree.Find, patience/2); err != nil {
			errs = append(errs, fmt.Errorf("end fake worker %s: %w", w.Name, err))
		}
	}
	f.wg.Wait()
	return errors.Join(errs...)
}

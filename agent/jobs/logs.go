package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// Line is a line of a job's log.
type Line struct {
	Pod  string // launcher, worker-3; "" if only one pod is read
	Rank int    // of the pod; -1 for the launcher
	At   time.Time
	Text []byte // without its newline; valid until the call returns
}

// Logs reads the logs of a job's pods.
type Logs struct {
	API       *API
	Job       string
	UID       types.UID // of the job; "": the first that has the name
	Which     Which
	Container string // "": the pod's own
	Follow    bool   // until the job has ended and everything is read
	Tail      int    // existing lines to read from each pod; 0: all
	Since     time.Time
	// Match reports whether a line is wanted; nil: all are. Tail counts only these.
	Match func(line []byte) bool
	Emit  func(Line) error // calls do not overlap
	Say   func(format string, args ...any)
}

// followed is the state of reading the logs of a job.
type followed struct {
	Logs
	job    *v1alpha1.LaunchJob // newest state; nil: not read yet
	gone   bool                // the job was deleted after that
	seen   map[types.UID]bool
	wanted map[string]bool // selected pods, started or not
	active sync.WaitGroup
	cancel context.CancelFunc
	ranked *ranked // nil: all lines are wanted

	mu      sync.Mutex // held during Emit; guards the fields below
	err     error      // the first permanent error
	reading int
	lines   int
	lost    []string // logs that were not read completely, and why
}

// lingering is how long a pod may write after the end of its job.
const lingering = time.Minute

// Run reads until no more lines can come. If the job is deleted meanwhile, Run ends without an
// error. It is an error if the selected pods have left no log.
func (l Logs) Run(ctx context.Context) error {
	reading, cancel := context.WithCancel(ctx)
	f := &followed{Logs: l, seen: map[types.UID]bool{}, wanted: map[string]bool{}, cancel: cancel}
	err := f.watch(reading)
	cancel()
	f.active.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		err = f.err
	}
	if err == nil && ctx.Err() == nil {
		err = f.verdict()
	}
	return l.API.explain(ctx, "read the logs of "+l.Job, err)
}

// watch finds the pods and starts to read each.
func (f *followed) watch(ctx context.Context) error {
	p, q := patience{say: f.Say}, patience{say: f.Say, quiet: true} // for the job, and for its pods
	var ended time.Time
	waiting := false
	for {
		if err := f.ask(ctx, &p); err != nil || ctx.Err() != nil {
			return err // the caller knows of an interrupt
		}
		over := f.gone || f.job != nil && Over(f.job)
		if f.job != nil {
			found, err := f.look(ctx)
			if !q.again(err) && ctx.Err() == nil {
				return err
			}
			over = over && err == nil
			if !f.Follow && err == nil {
				return nil
			}
			if found == 0 && !over && !waiting && err == nil {
				waiting = true
				f.Say("no pod of %s has started yet: %s", f.Job, Sentence(f.job))
			}
		}
		if over && f.idle() {
			return nil
		}
		if over && ended.IsZero() {
			ended = time.Now()
		}
		if over && time.Since(ended) > lingering {
			f.Say("%s ended a minute ago, but its pods still write: stopped reading", f.Job)
			f.cancel()
			return nil
		}
		if !sleep(ctx, lookEvery) {
			return nil
		}
	}
}

// ask reads the job. An error ends the watch. When ctx has ended there is none.
func (f *followed) ask(ctx context.Context, p *patience) error {
	now, err := f.API.job(ctx, f.Job)
	gone := apierrors.IsNotFound(err) || err == nil && f.UID != "" && now.UID != f.UID
	switch {
	case ctx.Err() != nil:
		return nil
	case gone:
		if f.gone = true; f.job == nil {
			return err
		}
		return nil
	case err != nil && f.UID == "": // it was never found
		return err
	case !p.again(err):
		return err
	case err != nil:
		return nil
	case f.job == nil:
		if err := f.begin(ctx, now); err != nil {
			return err
		}
	}
	f.job, f.UID = now, now.UID
	return nil
}

// begin returns an error if the job can never have what was selected.
func (f *followed) begin(ctx context.Context, job *v1alpha1.LaunchJob) error {
	kept, isKept := archiveOf(job)
	if isKept && f.Which == (Which{}) {
		f.Say("%s writes the output of its ranks to %s", f.Job, kept.place())
	}
	if err := f.Which.check(f.API, job); err != nil || f.Which.Rank == nil {
		return err
	}
	if job.Spec.Launcher == nil {
		if n := procs(job); n > 1 {
			f.Say("rank %d is one of %d ranks that share the log of their pod", *f.Which.Rank, n)
		}
		return nil
	}
	f.ranked = newRanked(job, *f.Which.Rank)
	if isKept || *f.Which.Rank < ranks(job) {
		return nil
	}
	return f.beyond(ctx, job)
}

// beyond returns an error if the job has no place for the rank, unless the log has lines of it:
// mpirun --oversubscribe starts more ranks than there are slots.
func (f *followed) beyond(ctx context.Context, job *v1alpha1.LaunchJob) error {
	pods, err := f.API.pods(ctx, f.API.Namespace, f.Job)
	if err != nil {
		return err
	}
	probe := newRanked(job, *f.Which.Rank)
	for _, m := range podsOf(f.Job, pods) {
		if !f.Which.wants(job, m) || !begun(m.pod, m.container("")) {
			continue
		}
		source := podLog{f.API, m.pod.Name, m.container(""), m.pod.UID}
		s, err := pickStream(ctx, source, time.Time{}, 0, probe.pick, func(time.Time, []byte) error { return nil })
		if err == nil {
			err = source.read(ctx, s, false, patience{quiet: true, say: f.Say})
		}
		if lost := (errLost{}); err != nil && !errors.As(err, &lost) {
			return err
		}
	}
	_, err = probe.verdict(f.API, job)
	return err
}

// look starts to read pods that have started since the last call. found counts all that have.
func (f *followed) look(ctx context.Context) (found int, err error) {
	role := ""
	if f.Which.launcher(f.job) { // a list of all pods each second is much for thousands of workers
		role = names.RoleLauncher
	}
	pods, err := f.API.podsWith(ctx, f.API.Namespace, f.Job, role)
	if err != nil {
		return 0, err
	}
	single := f.Which.one(f.job)
	var without []jobPod // selected pods that lack the requested container
	for _, m := range podsOf(f.Job, pods) {
		if !f.Which.wants(f.job, m) {
			continue
		}
		container := m.container(f.Container)
		if !m.has(container) {
			without = append(without, m)
			continue
		}
		f.wanted[m.pod.Name] = true
		if !begun(m.pod, container) {
			continue
		}
		found++
		if f.seen[m.pod.UID] {
			continue
		}
		f.seen[m.pod.UID] = true
		source := podLog{f.API, m.pod.Name, container, m.pod.UID}
		if f.Follow {
			f.count(1)
			f.active.Go(func() {
				defer f.count(-1)
				f.read(ctx, source, m, single)
			})
		} else {
			f.read(ctx, source, m, single) // one after the other
		}
	}
	if len(f.wanted) == 0 && len(without) > 0 {
		have := without[0].containers()
		return 0, failure.Usage("-c "+strings.Join(have, ", -c "), "-c %s: %s has no such container, only %s", f.Container, without[0].pod.Name, strings.Join(have, ", "))
	}
	return found, nil
}

func (f *followed) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading += n
}

func (f *followed) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reading == 0
}

func (f *followed) read(ctx context.Context, source podLog, m jobPod, single bool) {
	line := Line{Pod: m.name, Rank: m.rank}
	if single {
		line.Pod = ""
	}
	emit := func(at time.Time, text []byte) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lines++
		line.At, line.Text = at, text
		return f.Emit(line)
	}
	var err error
	s := newStream(source, f.Since, f.Tail, emit)
	if f.ranked != nil || f.Match != nil {
		s, err = pickStream(ctx, source, f.Since, f.Tail, f.pick, emit)
	}
	say := func(format string, args ...any) {
		f.mu.Lock() // not in the middle of a line
		defer f.mu.Unlock()
		f.Say(m.name+": "+format, args...)
	}
	if err == nil {
		err = source.read(ctx, s, f.Follow, patience{quiet: true, say: say})
	}
	var lost errLost
	switch {
	case err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return
	case errors.As(err, &lost):
		say("%v", lost)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case lost.why != "":
		f.lost = append(f.lost, m.pod.Name)
		return
	case f.err == nil:
		f.err = err
	}
	f.cancel()
}

// pick returns the text of a line that is wanted.
func (f *followed) pick(line []byte) (text []byte, ok bool) {
	text, ok = line, true
	if f.ranked != nil {
		text, ok = f.ranked.pick(line)
	}
	if ok && f.Match != nil && !f.Match(text) {
		f.mu.Lock()
		f.lines++ // the log was read
		f.mu.Unlock()
		return nil, false
	}
	return text, ok
}

// verdict returns an error if no log of the selected pods can be read.
func (f *followed) verdict() error {
	keep, at := "spec.runPolicy.cleanPodPolicy: None keeps the pods, and their logs, after the end", ""
	if f.job != nil {
		if kept, ok := archiveOf(f.job); ok && kept.lasts() {
			keep, at = kept.way(f.API, f.job, f.Which.Rank), "; the output of its ranks is in "+kept.place()
		}
	}
	switch {
	case f.lines > 0 || f.job == nil:
		return nil
	case len(f.lost) > 0:
		return failure.New(1, keep, "the log of %s is gone%s", strings.Join(f.lost, ", "), at)
	case len(f.seen) > 0 && f.ranked != nil:
		note, err := f.ranked.verdict(f.API, f.job)
		if note != "" {
			f.Say("%s", note)
		}
		return err
	case len(f.seen) > 0: // the pods wrote nothing
		return nil
	case f.gone:
		return failure.New(1, "", "%s was deleted before it had a log", f.Job)
	case !Over(f.job):
		return failure.New(1, f.API.Line("logs -f "+f.Job)+" waits for them; "+f.API.Line("get "+f.Job)+" shows why they do not run", "no selected pod of %s has a log yet", f.Job)
	case len(f.wanted) > 0:
		return failure.New(1, f.API.Line("get "+f.Job)+" shows why", "%s ended before %s had started", f.Job, strings.Join(slices.Sorted(maps.Keys(f.wanted)), ", "))
	}
	return failure.New(1, keep, "%s has ended, and its pods and their logs were deleted%s", f.Job, at)
}

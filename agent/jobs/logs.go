package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
)

// Line is a line of a job's log.
type Line struct {
	Member string // launcher, worker-3; "" where only one pod is meant
	Rank   int    // of the pod; -1 the launcher's
	At     time.Time
	Text   []byte // without its end; lent until the call returns
}

// Logs reads the logs of a job's pods.
type Logs struct {
	API       *API
	Job       string
	UID       types.UID // of the job; "": whatever has the name first
	Which     Which
	Container string // "": each pod's own
	Follow    bool   // until the job has ended and all was read
	Tail      int    // lines of each pod that were there before; 0: all
	Since     time.Time
	Emit      func(Line) error // one call at a time
	Say       func(format string, args ...any)
}

// followed are the pods that are being read, or were.
type followed struct {
	Logs
	seen   map[types.UID]bool
	active sync.WaitGroup
	cancel context.CancelFunc

	mu      sync.Mutex // one Emit at a time; guards the rest
	err     error      // the first that is not passing
	reading int
}

// lingering is how long after its job's end a pod may go on writing.
const lingering = time.Minute

// Run reads until there is nothing more to come. A job that is deleted meanwhile
// ends it without an error.
func (l Logs) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &followed{Logs: l, seen: map[types.UID]bool{}, cancel: cancel}
	err := f.watch(ctx)
	cancel()
	f.active.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		err = f.err
	}
	return l.API.explain("read the logs of "+l.Job, err)
}

// watch looks which pods there are, and has each read.
func (f *followed) watch(ctx context.Context) error {
	p, q := patience{say: f.Say}, patience{say: f.Say, quiet: true} // with the job; with its pods
	var job *v1alpha1.LaunchJob
	var ended time.Time
	waiting := false
	for {
		now, err := f.API.job(ctx, f.Job)
		gone := apierrors.IsNotFound(err) || err == nil && f.UID != "" && now.UID != f.UID
		switch {
		case ctx.Err() != nil:
			return nil // by whom, the caller knows
		case gone && job == nil:
			return err
		case gone:
		case err != nil && f.UID == "": // it was never reached
			return err
		case !p.again(err):
			return err
		case err == nil:
			job, f.UID = now, now.UID
		}
		over := gone || job != nil && Over(job)
		if job != nil {
			found, err := f.look(ctx, job)
			if !q.again(err) && ctx.Err() == nil {
				return err
			}
			over = over && err == nil
			if !f.Follow && err == nil {
				return f.none(found)
			}
			if found == 0 && !over && !waiting && err == nil {
				waiting = true
				f.Say("no pod of %s has begun yet: %s", f.Job, Sentence(job))
			}
		}
		if over && f.idle() {
			return nil
		}
		if over && ended.IsZero() {
			ended = time.Now()
		}
		if over && time.Since(ended) > lingering {
			f.Say("%s has ended a minute ago, and its pods still write: no longer read", f.Job)
			f.cancel()
			return nil
		}
		if !sleep(ctx, lookEvery) {
			return nil
		}
	}
}

// none complains of a log that is asked for once, when there is none.
func (f *followed) none(found int) error {
	if found > 0 {
		return nil
	}
	return failure.New(1, "agent logs -f "+f.Job+" waits for them; agent get "+f.Job+" says what is in the way", "no pod of %s that is meant has a log yet", f.Job)
}

// look begins to read pods that have begun since. found counts all that have.
func (f *followed) look(ctx context.Context, job *v1alpha1.LaunchJob) (found int, err error) {
	pods, err := f.API.pods(ctx, f.API.Namespace, f.Job)
	if err != nil {
		return 0, err
	}
	single := f.Which.one(job)
	for _, m := range membersOf(f.Job, pods) {
		container := m.container(f.Container)
		if !f.Which.wants(job, m) || !begun(m.pod, container) {
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

func (f *followed) read(ctx context.Context, source podLog, m member, single bool) {
	line := Line{Member: m.name, Rank: m.rank}
	if single {
		line.Member = ""
	}
	s := newStream(source, f.Since, f.Tail, func(at time.Time, text []byte) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		line.At, line.Text = at, text
		return f.Emit(line)
	})
	err := source.read(ctx, s, f.Follow, patience{quiet: true, say: func(format string, args ...any) {
		f.mu.Lock() // not into the midst of a line
		defer f.mu.Unlock()
		f.Say(m.name+": "+format, args...)
	}})
	if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.cancel()
}

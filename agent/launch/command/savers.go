//go:build linux

package command

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

const (
	// countTime bounds the wait for a worker to say how many ranks it asks. A worker that does not
	// say so in time is not waited for later either.
	countTime = 5 * time.Second
	// endsItself is how long an mpirun may take to end after all its ranks have ended.
	endsItself = 2 * time.Second
	// lastAnswers is how long workers may take to report ranks after the command's end.
	lastAnswers = time.Second
)

// saver is a rank that handles the signal that ends its launcher, because it may have something to
// save. The launcher of the ranks, such as mpirun, ends all of them when it is told to end, or when
// one has died.
type saver struct {
	rank, worker string // worker is "" in the launcher
	after        time.Duration
	ended        bool
	unknown      bool // its worker left without reporting
}

// askSavers asks the ranks below the command to end: the ranks of its sessions on workers, and the
// local ranks of its mpirun. It sends their number to counted once. It returns when all of them
// have ended, when the last part of grace begins, or when ctx ends. living is the number of ranks
// that are still alive. A worker that does not answer counts as one rank.
func (c *Command) askSavers(ctx context.Context, sig syscall.Signal, grace time.Duration, counted chan<- int) (all []saver, living int) {
	var mu sync.Mutex
	var asked, over sync.WaitGroup
	began := time.Now()
	note := func(list []saver, others int) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, list...)
		living += others
	}
	number := 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		number += n
	}
	asked.Add(1)
	over.Go(func() { note(c.askOwn(ctx, sig, grace, func(n int) { count(n); asked.Done() })) })
	rec := wire.EndRanksRecord{Number: c.links.Stops.Add(1), Signal: int(sig), GraceMillis: grace.Milliseconds()}
	for name, s := range c.links.Standings() {
		if s.Err != nil {
			continue
		}
		asked.Add(1)
		over.Go(func() {
			soon, cancel := context.WithTimeout(ctx, min(countTime, grace/2))
			first, err := s.Link.EndRanks(soon, rec)
			cancel()
			count(first.Asked)
			asked.Done()
			if err != nil {
				note(nil, 1)
				return
			}
			waiting := rec
			waiting.Wait = true
			ctx, cancel := context.WithTimeout(ctx, grace)
			defer cancel()
			if last, err := s.Link.EndRanks(ctx, waiting); err == nil {
				note(saversOf(last, name, 0), last.Living)
			} else {
				list := saversOf(first, name, time.Since(began))
				for i := range list {
					list[i].unknown = !list[i].ended && !errors.Is(ctx.Err(), context.DeadlineExceeded)
				}
				note(list, 1)
			}
		})
	}
	asked.Wait()
	counted <- number
	over.Wait()
	return all, living
}

// saversOf returns the ranks of an answer. so is the time since the signal, for ranks that are
// alive.
func saversOf(rec wire.RanksRecord, worker string, so time.Duration) (all []saver) {
	for _, r := range rec.Ranks {
		one := saver{rank: r.Rank, worker: worker, after: time.Duration(r.AfterMillis) * time.Millisecond, ended: !r.Lives}
		if r.Lives {
			one.after = max(one.after, so)
		}
		all = append(all, one)
	}
	return all
}

// askOwn is askSavers for the ranks that the command's mpirun has started here.
func (c *Command) askOwn(ctx context.Context, sig syscall.Signal, grace time.Duration, counted func(int)) (all []saver, living int) {
	result, _ := c.reaper.Ask(ctx, c.belowMPIRun, sig, grace, func(savers []reap.Proc) { counted(len(reap.Apart(savers))) }) // the sweep reports what it cannot find
	for _, o := range result.Ranks {
		all = append(all, saver{rank: o.Rank, after: o.After, ended: o.Ended()})
	}
	return all, result.Others
}

// belowMPIRun finds the mpiruns of the command and the processes that they have started here. Hydra
// passes our mark on to ranks on workers, which may be on this machine.
func (c *Command) belowMPIRun() ([]reap.Proc, error) {
	procs, err := c.tree.Find()
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	mpirun := map[int]bool{}
	for _, p := range procs {
		parents[p.PID] = p.PPID
		mpirun[p.PID] = names.IsMPIRun(p.Comm)
	}
	var found []reap.Proc
	for _, p := range procs {
		below, own := false, false
		for pid, steps := p.PID, 0; pid != 0 && steps <= len(procs); pid, steps = parents[pid], steps+1 {
			below, own = below || mpirun[pid], own || pid == c.proc.PID()
		}
		if below && own {
			found = append(found, p)
		}
	}
	return found, nil
}

// stopLast first asks the ranks of the command's launcher to end. It calls tell, which asks the
// command, when these have ended or when the last part of grace begins. The channel gets the number
// of ranks.
func (c *Command) stopLast(sig syscall.Signal, grace time.Duration, tell func(grace time.Duration)) <-chan int {
	ctx, cancel := context.WithCancel(context.Background())
	counted, over := make(chan int, 1), make(chan []report.StoppedRank, 1)
	began := time.Now()
	go func() {
		savers, living := c.askSavers(ctx, sig, grace, counted)
		if len(savers) > 0 && living == 0 {
			c.awaitEnd(ctx, endsItself)
		}
		select {
		case <-c.proc.Done():
		default:
			tell(grace - time.Since(began))
		}
		over <- stoppedSavers(savers)
	}()
	c.drained = sync.OnceValue(func() []report.StoppedRank {
		defer cancel()
		select {
		case all := <-over:
			return all
		case <-time.After(lastAnswers):
			cancel()
			return <-over
		}
	})
	return counted
}

func (c *Command) awaitEnd(ctx context.Context, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
}

func stoppedSavers(savers []saver) (all []report.StoppedRank) {
	for _, s := range savers {
		name := "rank"
		if s.rank != "" {
			name += " " + s.rank
		}
		all = append(all, report.StoppedRank{Rank: name, Worker: s.worker, Seconds: s.after.Seconds(), Killed: !s.ended && !s.unknown, Unknown: s.unknown})
	}
	return all
}

// AskWorker asks the ranks of a worker that is told to stop from outside. The worker has reported
// its stop, or will, and keeps all other processes running meanwhile.
func AskWorker(ctx context.Context, links *fleet.Links, worker string, grace time.Duration) {
	if l := links.LinkOf(worker); l != nil {
		ctx, cancel := context.WithTimeout(ctx, min(countTime, grace/2))
		defer cancel()
		_, _ = l.EndRanks(ctx, wire.EndRanksRecord{Number: links.Stops.Add(1), Signal: int(syscall.SIGTERM), GraceMillis: grace.Milliseconds()}) // a worker that is too old asks its ranks itself
	}
}

package hang

import (
	"context"
	"time"

	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// An MPI rank that waits may poll: it then uses a processor, like a rank that computes. Only its
// stack tells the two apart, and only if a line of Python calls MPI and nothing else. So a
// suspicion is only reported, and never acted upon. It is reported if, for the whole time, each
// rank of the job has been in one such call or has not moved at all. The call cannot have returned
// in between, because the rank would then have run Python.

const (
	// pollTakes is how often the stacks are taken again at each look. pollProof is how often they
	// are taken again before the suspicion is reported.
	pollTakes = 1
	pollProof = 5
	pollPause = 200 * time.Millisecond // between two of these
)

// placed identifies a rank of the job for the whole run.
type placed struct {
	worker string
	being  being
}

// polling records how long all ranks have been in MPI calls, or have not moved.
type polling struct {
	since  time.Time // when all first stood as they do now; zero: they do not
	scenes map[string]Scene
	ranks  map[placed]stacks.Rank // the ranks at the last look
	told   bool
	polls  []int // indexes of the ranks that polled at the last look
}

// drop clears the record.
func (p *polling) drop() { *p = polling{} }

// begin starts the record at a look.
func (p *polling) begin(at time.Time, scenes map[string]Scene, ranks []stacks.Rank) {
	*p = polling{since: at, scenes: scenes}
	p.keep(ranks)
}

func (p *polling) keep(ranks []stacks.Rank) {
	p.ranks = map[placed]stacks.Rank{}
	for _, r := range ranks {
		p.ranks[placedOf(r)] = r
	}
}

func placedOf(r stacks.Rank) placed {
	return placed{r.Worker, being{r.Record.Process.PID, r.Record.Process.Start}}
}

// stand reports whether the ranks are where they were at the last look.
func (p *polling) stand(ranks []stacks.Rank) bool {
	if len(ranks) != len(p.ranks) {
		return false
	}
	for _, r := range ranks {
		was, known := p.ranks[placedOf(r)]
		if !known || was.Place() != r.Place() || was.Record.MPICall != r.Record.MPICall || r.Record.Returned {
			return false
		}
	}
	return true
}

// goOn continues the record with another look. It returns false if anything but polling has
// happened since the last look.
func (p *polling) goOn(scenes map[string]Scene, ranks []stacks.Rank) bool {
	if len(scenes) != len(p.scenes) || !p.stand(ranks) {
		return false
	}
	p.polls = nil
	may := map[string]map[being]bool{}
	for i, r := range ranks {
		was, now := p.ranks[placedOf(r)].Record, r.Record
		little := max(littleTime, scenes[r.Worker].at.Sub(p.scenes[r.Worker].at)/littleShare)
		used := millis(now.Process.CPU - was.Process.CPU)
		others := used - millis(now.MainCPU-was.MainCPU)
		switch {
		case now.MPICall != "" && others > little, now.MPICall == "" && used > little:
			return false // a thread computes
		case used > little:
			p.polls = append(p.polls, i)
		}
		if may[r.Worker] == nil {
			may[r.Worker] = map[being]bool{}
		}
		may[r.Worker][placedOf(r).being] = true
	}
	for worker, now := range scenes {
		before, known := p.scenes[worker]
		if !known || stirredBut(before, now, may[worker]) {
			return false
		}
	}
	p.scenes = scenes
	p.keep(ranks)
	return true
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// idle reports whether a rank that does not poll waits for something that may never come.
func (p *polling) idle(ranks []stacks.Rank) bool {
	for _, r := range ranks {
		if r.Record.MPICall == "" && isIdle(r.Record.Process) {
			return true
		}
	}
	return false
}

// pollsNot clears the record, because the ranks do not poll.
func (w *Watch) pollsNot(ctx context.Context) {
	told := w.polling.told
	w.polling.drop()
	if told {
		w.say(ctx, Finding{Over: true})
	}
}

// seekPolls looks for polling ranks after a worker was seen to be busy. It asks the other workers
// only if the ranks of that worker may be in MPI calls. So ranks that compute cost one question.
func (w *Watch) seekPolls(ctx context.Context) {
	p := &w.polling
	scenes, seen, ok := w.lookForPolls(ctx)
	switch {
	case ctx.Err() != nil:
		return
	case !ok:
		w.pollsNot(ctx)
		return
	case p.since.Before(w.lastOutput()) || !p.goOn(scenes, seen.Ranks):
		w.pollsNot(ctx)
		p.begin(time.Now(), scenes, seen.Ranks)
	}
	due := w.pollsDue(seen.Ranks)
	takes := pollTakes
	if due {
		takes = pollProof
	}
	for range takes {
		if !wait.Sleep(ctx, pollPause) {
			return
		}
		again := takePolls(ctx, w.workers(), w.LabelOf)
		if ctx.Err() != nil {
			return
		}
		if len(again.Unknown) > 0 || !p.stand(again.Ranks) {
			w.pollsNot(ctx)
			return
		}
	}
	if due && w.quiet() {
		p.told = true
		w.say(ctx, Finding{Polls: true, Scenes: scenes, Stacks: &seen, Polling: p.polls})
	}
}

// quiet reports whether nothing was printed for the whole time.
func (w *Watch) quiet() bool { return time.Since(w.lastOutput()) >= w.After }

// pollsDue reports whether the suspicion has to be reported.
func (w *Watch) pollsDue(ranks []stacks.Rank) bool {
	p := &w.polling
	if p.told || len(p.polls) == 0 || len(ranks) < 2 || time.Since(p.since) < w.After || !w.quiet() {
		return false
	}
	return !w.Wary || w.printed.Load() > 0 && !p.idle(ranks)
}

// lookForPolls looks at all workers and the command. It returns false if ranks do not poll, or if
// not all can be asked.
func (w *Watch) lookForPolls(ctx context.Context) (scenes map[string]Scene, seen Standing, ok bool) {
	workers := w.workers()
	first := workers[w.busy]
	if w.Unstacked || w.stillOnly || first == nil {
		return nil, seen, false
	}
	seen = takePolls(ctx, map[string]Asker{w.busy: first}, w.LabelOf)
	if !mayPoll(seen) {
		return nil, seen, false
	}
	scenes = map[string]Scene{}
	for name, r := range AskAll(ctx, workers) {
		if r.Err != nil {
			return nil, seen, false
		}
		scenes[name] = r.Scene
	}
	if w.own != nil {
		own, _, err := w.own()
		if err != nil || holdsRanks(own) {
			return nil, seen, false // ranks in the launcher report no stacks
		}
		scenes[""] = own
	}
	seen = takePolls(ctx, workers, w.LabelOf)
	return scenes, seen, mayPoll(seen)
}

func holdsRanks(s Scene) bool {
	for _, a := range s.actors {
		if a.Process.Rank != "" {
			return true
		}
	}
	return false
}

// mayPoll reports whether each of these ranks waits in MPI, or may do nothing.
func mayPoll(seen Standing) bool {
	for _, r := range seen.Ranks {
		if r.Record.Returned || r.Record.MPICall == "" && r.Record.Process.State == "R" {
			return false
		}
	}
	return len(seen.Ranks) > 0 && len(seen.Unknown) == 0
}

// takePolls asks workers where their ranks stand, to find ranks that poll.
func takePolls(ctx context.Context, workers map[string]Asker, label func(string) string) Standing {
	return takeEach(ctx, hangStacks, workers, label, func(string) wire.AskRecord { return wire.AskRecord{Polls: true} })
}

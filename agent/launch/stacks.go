//go:build linux

package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// How long taking stacks may last: before the rest of a failed group is stopped, and when
// there is time.
const (
	failureStacks = 1500 * time.Millisecond
	hangStacks    = 5 * time.Second
	askedStacks   = 10 * time.Second
)

// stackMargin is the part of that time which the way to a worker and back may take.
const stackMargin = 300 * time.Millisecond

// besideTime is the time that ranks need to dump their flight recorders, and NCCL's RAS
// service to answer: PyTorch looks once a second whether it should.
const besideTime = 3 * time.Second

// mostStackAsks bounds the workers that are asked at the same time.
const mostStackAsks = 256

// stacker is a worker that tells where its ranks stand.
type stacker interface {
	Stacks(ctx context.Context, rec wire.AskRecord) (wire.AnswerRecord, error)
}

// standingAt is where the ranks of a job stand.
type standingAt struct {
	ranks   []stacks.Rank
	unknown map[string]error // workers that did not tell, and why
	ras     []byte           // what NCCL's RAS service says
	rasAt   string           // the worker that it was asked on
}

// takeStacks asks workers where their ranks stand, and the given programs of their images
// (wire.AskRecord.Programs). If there is time, ranks dump their flight recorders, and the
// first worker asks NCCL's RAS service. label names what a session runs.
func takeStacks(ctx context.Context, limit time.Duration, programs string, workers map[string]asker, label func(session string) string) standingAt {
	rasAt := ""
	if limit >= besideTime {
		rasAt = firstWorker(workers)
	}
	found := takeEach(ctx, limit, workers, label, func(worker string) wire.AskRecord {
		return wire.AskRecord{Programs: programs, Flight: limit >= besideTime, RAS: worker == rasAt}
	})
	found.rasAt = rasAt
	return found
}

// takeEach asks workers about stacks, each the question that belongs to its name.
func takeEach(ctx context.Context, limit time.Duration, workers map[string]asker, label func(session string) string, question func(worker string) wire.AskRecord) standingAt {
	ctx, stop := context.WithTimeoutCause(ctx, limit, errNoAnswer)
	defer stop()
	found := standingAt{unknown: map[string]error{}}
	var mu sync.Mutex
	turn := make(chan struct{}, mostStackAsks)
	var asked sync.WaitGroup
	for name, worker := range workers {
		turn <- struct{}{}
		asked.Go(func() {
			defer func() { <-turn }()
			var answer wire.AnswerRecord
			err := errors.New("it cannot be asked")
			if s, ok := worker.(stacker); ok {
				rec := question(name)
				rec.Millis = (limit - stackMargin).Milliseconds()
				answer, err = s.Stacks(ctx, rec)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				found.unknown[name] = err
			}
			if len(answer.RAS) > 0 {
				found.ras = answer.RAS
			}
			for _, rec := range answer.Stacks {
				found.ranks = append(found.ranks, rankOf(name, rec, label))
			}
		})
	}
	asked.Wait()
	slices.SortFunc(found.ranks, func(a, b stacks.Rank) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Record.Process.PID, b.Record.Process.PID))
	})
	return found
}

// firstWorker is the first one by name that tells where its ranks stand; "": none does.
func firstWorker(workers map[string]asker) (first string) {
	for name, worker := range workers {
		if _, ok := worker.(stacker); ok && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// rankOf names the process of a record as reports do.
func rankOf(worker string, rec wire.StackRecord, label func(string) string) stacks.Rank {
	name := whoIs(actor{session: rec.Session, process: rec.Process}, label)
	number, err := strconv.Atoi(strings.TrimPrefix(name, "rank "))
	if err != nil {
		number = -1
	}
	return stacks.New(name, number, worker, rec)
}

// told reports whether the stack of any rank is known.
func (s standingAt) told() bool {
	return slices.ContainsFunc(s.ranks, func(r stacks.Rank) bool { return len(r.Record.Text)+len(r.Record.Native) > 0 })
}

// of is where a process stands; it is empty for one that was not asked.
func (s *standingAt) of(who sitter) stacks.Rank {
	if s == nil {
		return stacks.Rank{}
	}
	for _, r := range s.ranks {
		if r.Worker == who.worker && r.Record.Session == who.actor.session && r.Record.Process.PID == who.actor.process.PID {
			return r
		}
	}
	return stacks.Rank{}
}

// lines are the verdict and the places of the ranks, for people.
func (s standingAt) lines(v stacks.Verdict) (lines []string) {
	if v.Sentence != "" {
		lines = append(lines, v.Sentence)
	}
	for _, line := range stacks.Lines(s.ranks, v.Suspects) {
		lines = append(lines, "  "+line)
	}
	lines = append(lines, s.beside()...)
	for i, name := range slices.Sorted(maps.Keys(s.unknown)) {
		if i == mostNamed {
			lines = append(lines, fmt.Sprintf("  and %s", phrase.Count(len(s.unknown)-i, "more worker")))
			break
		}
		lines = append(lines, "  "+name+": no stacks: "+phrase.OneLine(s.unknown[name]))
	}
	return lines
}

// beside are what PyTorch and NCCL say besides stacks, for people.
func (s standingAt) beside() (lines []string) {
	for _, line := range append(stacks.Flights(s.ranks), stacks.RAS(s.ras, s.rasAt)...) {
		lines = append(lines, "  "+line)
	}
	return lines
}

// tellStacks says who the others wait for, and where all stand, when the run has come
// to a stop. It reports whether there was anything to say.
func (s *supervisor) tellStacks(h hang, when string) (verdict string, said bool) {
	if h.stacks == nil {
		return "", false
	}
	v := stacks.OfHang(h.stacks.ranks)
	if v.Sentence != "" {
		s.blames = append(s.blames, Blame{When: when, Sentence: v.Sentence})
	}
	if !h.stacks.told() {
		if v.Sentence != "" {
			s.voice.Warn("%s", v.Sentence)
		}
		for _, line := range h.stacks.beside() {
			s.voice.Warn("%s", line)
		}
		return v.Sentence, false
	}
	for _, line := range h.stacks.lines(v) {
		s.voice.Warn("%s", line)
	}
	return v.Sentence, true
}

// witness takes the stacks of a group when one of its processes has failed, before the
// others are stopped.
type witness struct {
	run  *runner
	hang *hangWatch
	done chan struct{}
	seen standingAt      // when done is closed
	over map[string]bool // labels of processes that have ended; of the group's goroutine
}

// begin starts it, once. The channel is closed when it has all that it gets.
func (w *witness) begin(ctx context.Context) <-chan struct{} {
	w.done = make(chan struct{})
	w.run.wg.Go(func() {
		defer close(w.done)
		w.seen = takeStacks(ctx, failureStacks, wire.ProgramsBrief, w.run.links.askers(), w.hang.labelOf)
	})
	return w.done
}

// judge returns the verdict over the ranks that lived when the failure became known, and its lines.
// They are empty where nothing can be said: the stacks of ranks that are fine
// explain no failure.
func (w *witness) judge(f stacks.Failure) (sentence string, lines []string) {
	if w.done == nil {
		return "", nil
	}
	select {
	case <-w.done:
	default:
		return "", nil // out of time
	}
	seen := w.seen
	seen.ranks = slices.DeleteFunc(slices.Clone(seen.ranks), func(r stacks.Rank) bool { return w.over[w.hang.labelOf(r.Record.Session)] })
	v := stacks.OfFailure(f, seen.ranks)
	if v.Sentence == "" {
		return "", nil
	}
	return v.Sentence, seen.lines(v)
}

// witness is what the group has called at its first failure; nil: nobody looks.
func (r *runner) witness(w *witness) func(context.Context) <-chan struct{} {
	if r.cfg.Stacks == config.StacksNever {
		return nil
	}
	return w.begin
}

// tellBlame says who the failed process, or one that failed with it, has waited for, where its stacks tell.
func (r *runner) tellBlame(attempt int, f group.Failure, w *witness) {
	var sentence string
	var lines []string
	for _, one := range append([]group.Failure{f}, f.Beside...) {
		if sentence, lines = w.judge(stacks.Failure{Sentence: one.Sentence(), Tail: one.Tail}); sentence != "" {
			break
		}
	}
	if sentence == "" {
		return
	}
	r.report.Blames = append(r.report.Blames, Blame{Attempt: attempt, When: "failure", Sentence: sentence})
	for _, line := range lines {
		r.voice.Warn("%s", line)
	}
}

// stacksOf tells people, by the broker, where ranks stand. Nothing says that the job
// hangs, so nobody is blamed.
func (s *service) stacksOf(l *links, cfg config.Config) func(context.Context, []string) []string {
	if cfg.Stacks == config.StacksNever {
		return func(context.Context, []string) []string {
			return []string{"stacks are not taken here: agent run was given --stacks=never"}
		}
	}
	return func(ctx context.Context, numbers []string) []string {
		s.mu.RLock()
		label := s.label
		s.mu.RUnlock()
		at := takeStacks(ctx, askedStacks, wire.ProgramsAll, l.askers(), label)
		if len(numbers) > 0 {
			at.ranks = slices.DeleteFunc(at.ranks, func(r stacks.Rank) bool { return !slices.Contains(numbers, strconv.Itoa(r.Number)) })
		}
		switch {
		case len(at.ranks) > 0 || len(at.unknown) > 0:
		case len(numbers) > 0:
			return []string{"no such rank runs"}
		default:
			return []string{"no ranks run"}
		}
		v := stacks.OfHang(at.ranks)
		if v.Sentence = v.Facts(); len(numbers) > 0 {
			v.Sentence = ""
		}
		return at.lines(v)
	}
}

package hang

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

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// How long taking stacks may last: before the rest of a failed group is stopped, for a hang, and
// for a user who asked.
const (
	FailureStacks = 1500 * time.Millisecond
	hangStacks    = 5 * time.Second
	AskedStacks   = 10 * time.Second
)

// stackMargin is the part of that time reserved for the way to a worker and back.
const stackMargin = 300 * time.Millisecond

// besideTime is how long ranks need to dump their flight recorders, and NCCL's RAS service needs to
// answer. PyTorch checks once per second whether to dump.
const besideTime = 3 * time.Second

// mostStackAsks bounds the number of workers that are asked at the same time.
const mostStackAsks = 256

// stacker is a worker that reports where its ranks stand.
type stacker interface {
	Stacks(ctx context.Context, rec wire.AskRecord) (wire.AnswerRecord, error)
}

// Standing says where the ranks of a job stand.
type Standing struct {
	Ranks   []stacks.Rank
	Unknown map[string]error // workers that did not answer, and why
	ras     []byte           // what NCCL's RAS service says
	rasAt   string           // the worker where the service was asked
}

// TakeStacks asks workers where their ranks stand. programs says which programs of their images may
// take stacks (wire.AskRecord.Programs). If limit is long enough, ranks also dump their flight
// recorders, and the first worker asks NCCL's RAS service. label returns what a session runs.
func TakeStacks(ctx context.Context, limit time.Duration, programs string, workers map[string]Asker, label func(session string) string) Standing {
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

// takeEach asks workers for stacks. question returns the question for each worker, by name.
func takeEach(ctx context.Context, limit time.Duration, workers map[string]Asker, label func(session string) string, question func(worker string) wire.AskRecord) Standing {
	until := time.Now().Add(limit)
	ctx, stop := context.WithDeadlineCause(ctx, until, errNoAnswer)
	defer stop()
	found := Standing{Unknown: map[string]error{}}
	var mu sync.Mutex
	turn := make(chan struct{}, mostStackAsks)
	var asked sync.WaitGroup
	for name, worker := range workers {
		turn <- struct{}{}
		asked.Go(func() {
			defer func() { <-turn }()
			var answer wire.AnswerRecord
			err := errors.New("the worker cannot answer")
			if s, ok := worker.(stacker); ok {
				rec := question(name)
				rec.Millis = (time.Until(until) - stackMargin).Milliseconds() // of a big job, some wait for their turn
				answer, err = s.Stacks(ctx, rec)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				found.Unknown[name] = err
			}
			if len(answer.RAS) > 0 {
				found.ras = answer.RAS
			}
			for _, rec := range answer.Stacks {
				found.Ranks = append(found.Ranks, rankOf(name, rec, label))
			}
		})
	}
	asked.Wait()
	slices.SortFunc(found.Ranks, func(a, b stacks.Rank) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Record.Process.PID, b.Record.Process.PID))
	})
	return found
}

// firstWorker returns the first worker by name that reports where its ranks stand, or "".
func firstWorker(workers map[string]Asker) (first string) {
	for name, worker := range workers {
		if _, ok := worker.(stacker); ok && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// rankOf converts a record to a rank, with the name that reports use.
func rankOf(worker string, rec wire.StackRecord, label func(string) string) stacks.Rank {
	name := whoIs(actor{Session: rec.Session, Process: rec.Process}, label)
	number, err := strconv.Atoi(strings.TrimPrefix(name, "rank "))
	if err != nil {
		number = -1
	}
	return stacks.New(name, number, worker, rec)
}

// Told reports whether the stack of any rank is known.
func (s Standing) Told() bool {
	return slices.ContainsFunc(s.Ranks, func(r stacks.Rank) bool { return len(r.Record.Text)+len(r.Record.Native) > 0 })
}

// Of returns where a process stands. It is empty for a process that was not asked.
func (s *Standing) Of(who Sitter) stacks.Rank {
	if s == nil {
		return stacks.Rank{}
	}
	for _, r := range s.Ranks {
		if r.Worker == who.Worker && r.Record.Session == who.Actor.Session && r.Record.Process.PID == who.Actor.Process.PID {
			return r
		}
	}
	return stacks.Rank{}
}

// Lines returns the verdict and the places of the ranks, for people.
func (s Standing) Lines(v stacks.Verdict) (lines []string) {
	if v.Sentence != "" {
		lines = append(lines, v.Sentence)
	}
	for _, line := range stacks.Lines(s.Ranks, v.Suspects) {
		lines = append(lines, "  "+line)
	}
	lines = append(lines, s.Beside()...)
	for i, name := range slices.Sorted(maps.Keys(s.Unknown)) {
		if i == mostNamed {
			lines = append(lines, fmt.Sprintf("  and %s", phrase.Count(len(s.Unknown)-i, "more worker")))
			break
		}
		lines = append(lines, "  "+name+": no stacks: "+phrase.OneLine(s.Unknown[name]))
	}
	return lines
}

// Beside returns what PyTorch and NCCL say in addition to stacks, for people.
func (s Standing) Beside() (lines []string) {
	for _, line := range append(stacks.Flights(s.Ranks), stacks.RAS(s.ras, s.rasAt)...) {
		lines = append(lines, "  "+line)
	}
	return lines
}

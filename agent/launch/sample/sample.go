package sample

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/wire"
)

// Asker reports what the processes on one worker do.
type Asker interface {
	// Ask asks the worker once.
	Ask(ctx context.Context) (wire.AnswerRecord, error)
}

// facts is a worker that reports the memory of its container.
type facts interface {
	Facts(ctx context.Context, ask wire.AskFactsRecord) (wire.FactsRecord, error)
}

const (
	// apart is the time between two looks at the use of processors.
	apart = time.Second
	// mostAsks bounds the number of workers that are asked at the same time.
	mostAsks = 256
)

// Use is what the processes of one worker use.
type Use struct {
	Ranks  []int
	CPU    *int64 // thousandths of a processor; nil: unknown
	Memory *int64 // bytes that its container uses; nil: unknown
}

// Take asks workers what they use. memory also asks for the memory of their containers.
func Take[A Asker](ctx context.Context, workers map[string]A, memory bool) map[string]Use {
	all := map[string]Use{}
	each(workers, func(name string, w Asker) func() {
		first, err := w.Ask(ctx)
		if err != nil {
			return nil
		}
		began := time.Now()
		use := Use{Ranks: ranksOf(first)}
		if f, ok := w.(facts); ok && memory {
			if known, err := f.Facts(ctx, wire.AskFactsRecord{}); err == nil && known.MemoryUsed > 0 {
				use.Memory = &known.MemoryUsed
			}
		}
		wait.Sleep(ctx, apart-time.Since(began))
		if second, err := w.Ask(ctx); err == nil {
			use.CPU = between(first, second, time.Since(began))
		}
		return func() { all[name] = use }
	})
	return all
}

// Places asks workers for their ranks, and returns the worker of each. whole reports whether every
// worker has listed all of its processes.
func Places[A Asker](ctx context.Context, workers map[string]A) (all map[int]string, whole bool) {
	all = map[int]string{}
	listed := 0
	each(workers, func(name string, w Asker) func() {
		answer, err := w.Ask(ctx)
		if err != nil {
			return nil
		}
		return func() {
			for _, rank := range ranksOf(answer) {
				all[rank] = name
			}
			if answer.Left == 0 {
				listed++
			}
		}
	})
	return all, listed == len(workers)
}

// each asks every worker with ask, many at a time. The functions that ask returns run one at a time.
func each[A Asker](workers map[string]A, ask func(name string, w Asker) func()) {
	var mu sync.Mutex
	var asked sync.WaitGroup
	turn := make(chan struct{}, mostAsks)
	for name, w := range workers {
		turn <- struct{}{}
		asked.Go(func() {
			defer func() { <-turn }()
			if note := ask(name, w); note != nil {
				mu.Lock()
				defer mu.Unlock()
				note()
			}
		})
	}
	asked.Wait()
}

// ranksOf returns the ranks of the processes in an answer. Helpers have the ranks of their parents,
// so a rank may occur more than once.
func ranksOf(answer wire.AnswerRecord) (numbers []int) {
	for _, s := range answer.Sessions {
		for _, p := range s.Processes {
			if n, err := strconv.Atoi(p.Rank); err == nil && n >= 0 {
				numbers = append(numbers, n)
			}
		}
	}
	return numbers
}

// between returns the processors, in thousandths, that processes used between two answers. It returns
// nil if an answer does not have all processes.
func between(first, second wire.AnswerRecord, took time.Duration) *int64 {
	if first.Left > 0 || second.Left > 0 || took <= 0 {
		return nil
	}
	type process struct {
		pid   int
		start uint64
	}
	before := map[process]int64{}
	for _, s := range first.Sessions {
		for _, p := range s.Processes {
			before[process{p.PID, p.Start}] = p.CPU
		}
	}
	used := int64(0)
	for _, s := range second.Sessions {
		for _, p := range s.Processes {
			used += max(0, p.CPU-before[process{p.PID, p.Start}])
		}
	}
	used = used * 1000 / max(1, took.Milliseconds())
	return &used
}

//go:build linux

package launch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/sample"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/straggler"
	"github.com/musterhq/muster/agent/usage"
)

// topTime bounds the answer to agent top.
const topTime = 10 * time.Second

// places returns where ranks run. It asks the workers unless Muster has started the ranks itself.
func (r *runner) places(ctx context.Context) map[int]straggler.Place {
	planned := r.broker.latest()
	at := rankWorkers(planned)
	if len(planned.Processes) == 0 {
		at, _ = sample.Places(ctx, r.links.Askers())
	}
	nodes := map[string]string{}
	for _, h := range planned.Hosts {
		nodes[h.Name] = h.Node
	}
	all := map[int]straggler.Place{}
	for rank, worker := range at {
		all[rank] = straggler.Place{Worker: worker, Node: nodes[worker]}
	}
	return all
}

// living returns the ranks that run on the workers, and reports whether all workers have answered.
func (r *runner) living(ctx context.Context) (ranks []int, whole bool) {
	at, whole := sample.Places(ctx, r.links.Askers())
	return slices.Collect(maps.Keys(at)), whole
}

// rankWorkers returns the worker of each rank in a plan.
func rankWorkers(planned plan.Plan) map[int]string {
	at := map[int]string{}
	for _, p := range planned.Processes {
		if p.Rank >= 0 {
			at[p.Rank] = planned.Hosts[p.Worker].Name
		}
	}
	return at
}

// follow sets what measures the steps of the current attempt.
func (s *service) follow(w *stall.Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = w
}

// topOf returns the function with which the broker reports what the workers use and how fast their
// ranks are: one worker a line, as JSON. If the workers share a machine, what each uses of its memory
// is unknown.
func (s *service) topOf(l *fleet.Links, shared bool) func(context.Context) []string {
	return func(ctx context.Context) (lines []string) {
		ctx, cancel := context.WithTimeout(ctx, topTime)
		defer cancel()
		used := sample.Take(ctx, l.Askers(), !shared)
		s.mu.RLock()
		planned, steps := s.planned, s.progress.Steps()
		s.mu.RUnlock()
		ranks := map[string][]int{}
		for rank, worker := range rankWorkers(planned) {
			ranks[worker] = append(ranks[worker], rank)
		}
		for _, h := range planned.Hosts {
			w := usage.Worker{Worker: h.Name, Node: h.Node}
			u := used[h.Name]
			w.CPU, w.Memory = u.CPU, u.Memory
			if len(planned.Processes) == 0 {
				ranks[h.Name] = u.Ranks
			}
			w.SetSteps(ranks[h.Name], steps)
			if line, err := json.Marshal(w); err == nil { // it cannot fail
				lines = append(lines, string(line))
			}
		}
		return lines
	}
}

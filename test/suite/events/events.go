// Package events invents the events of a large run, as its launcher would record them. Two tests need
// them: that of agent/timeline, and that of the page in a browser. The same numbers give the same events.
package events

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
)

const (
	ranks   = 8 // on each worker
	perNode = 1 // workers

	between = 20 * time.Second // an attempt's end and the next one's start
	tries   = 10 * time.Minute // length of an attempt
)

// Begin is when the run begins.
var Begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// run is the run that is invented.
type run struct {
	all    []event.Event
	random *rand.Rand
	names  []string
	nodes  []string
}

// Run returns the events of a run of workers that restarts this often, and then ends well. Some workers
// wait for a node, some for an image, some links are cut, and one worker is lost for each restart.
func Run(workers, restarts int) []event.Event {
	r := &run{random: rand.New(rand.NewPCG(uint64(workers), uint64(restarts)))}
	r.add(event.Event{Kind: event.RunStarted, Count: workers, Detail: "v0.1.0", Rank: event.NoRank}, 0)
	linked := r.launch(workers)
	r.run(event.AllLinked, linked, 0, "", workers)
	for attempt := range restarts + 1 {
		begin := linked + time.Duration(attempt)*(tries+between)
		if attempt > 0 {
			r.run(event.Restart, begin-between+time.Second, attempt, fmt.Sprintf("attempt %d of %d: in 2 s, because the worker was lost", attempt+1, restarts+1), 0)
		}
		r.run(event.CheckStarted, begin+time.Second, attempt, "", 0)
		r.run(event.Checked, begin+6*time.Second, attempt, "", 0)
		r.attempt(attempt, begin+7*time.Second, attempt == restarts)
	}
	last := r.all[len(r.all)-1].Time.Sub(Begin)
	r.run(event.RunEnded, last+time.Second, restarts, "", 0)
	slices.SortStableFunc(r.all, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	return r.all
}

func (r *run) add(e event.Event, at time.Duration) {
	e.Time = Begin.Add(at)
	r.all = append(r.all, e)
}

// run adds an event of the run.
func (r *run) run(kind event.Kind, at time.Duration, attempt int, detail string, count int) {
	r.add(event.Event{Kind: kind, Attempt: attempt, Detail: detail, Count: count, Rank: event.NoRank}, at)
}

// worker adds an event of worker i.
func (r *run) worker(i int, kind event.Kind, at time.Duration, attempt int, detail string) {
	r.add(event.Event{Kind: kind, Attempt: attempt, Worker: r.names[i], Node: r.nodes[i], Detail: detail, Rank: event.NoRank}, at)
}

// some returns a random time between two numbers of seconds.
func (r *run) some(least, most float64) time.Duration {
	return time.Duration((least + (most-least)*r.random.Float64()) * float64(time.Second)).Truncate(time.Millisecond)
}

// launch starts the workers, and returns when the last one is linked.
func (r *run) launch(workers int) (linked time.Duration) {
	for i := range workers {
		r.names = append(r.names, fmt.Sprintf("bert-large-worker-%d", i))
		r.nodes = append(r.nodes, fmt.Sprintf("gpu-node-%04d", i/perNode))
		at := r.some(0, 3)
		r.worker(i, event.PodCreated, at, 0, "")
		if i%97 == 13 {
			r.worker(i, event.Waiting, at+time.Second, 0, "Unschedulable: 0/1000 nodes are available: 1000 Insufficient nvidia.com/gpu")
			at += r.some(30, 75)
		}
		at += r.some(0.2, 2)
		r.worker(i, event.PodScheduled, at, 0, "")
		if i%5 == 2 {
			at += r.some(0.5, 1)
			r.worker(i, event.ImagePulling, at, 0, `Pulling image "registry.example.com/team/bert-large:2026-02-28"`)
			at += r.some(8, 55)
			r.worker(i, event.ImagePulled, at, 0, "Successfully pulled image")
		}
		at += r.some(1, 6)
		r.worker(i, event.ContainerStarted, at, 0, "")
		at += r.some(0.3, 2.5)
		r.worker(i, event.Linked, at, 0, "")
		linked = max(linked, at)
	}
	return linked
}

// attempt runs an attempt. It loses a worker at its end, unless it ends well.
func (r *run) attempt(attempt int, begin time.Duration, well bool) {
	end := begin + tries
	for i := range r.names {
		start := begin + r.some(0, 0.4)
		r.worker(i, event.CommandStarted, start, attempt, "")
		for rank := range ranks {
			r.add(event.Event{Kind: event.FirstLine, Attempt: attempt, Worker: r.names[i], Rank: i*ranks + rank}, start+r.some(4, 19))
		}
		if r.random.IntN(40) == 0 {
			cut := start + r.some(60, 400)
			r.worker(i, event.LinkLost, cut, attempt, "read: connection reset by peer")
			r.worker(i, event.LinkBack, cut+r.some(0.5, 9), attempt, "")
		}
	}
	for at := begin + 2*time.Minute; at < end; at += 2 * time.Minute {
		r.run(event.Saved, at, attempt, "", 0)
	}
	if !well {
		lost := r.random.IntN(len(r.names))
		r.run(event.Stalled, end-40*time.Second, attempt, "no rank has printed anything for 60 s", 0)
		r.worker(lost, event.WorkerLost, end-time.Second, attempt, "its node does not answer, and its link has been down for 30 s")
		r.run(event.AttemptEnded, end, attempt, "worker "+r.names[lost]+" lost: its node does not answer", 76)
		r.worker(lost, event.Replaced, end+2*time.Second, attempt+1, r.names[lost]+", a new pod")
		r.worker(lost, event.PodCreated, end+3*time.Second, attempt+1, "")
		r.worker(lost, event.PodScheduled, end+4*time.Second, attempt+1, "")
		r.worker(lost, event.ContainerStarted, end+8*time.Second, attempt+1, "")
		r.worker(lost, event.Linked, end+9*time.Second, attempt+1, "")
		return
	}
	for i := range r.names {
		for rank := range ranks {
			r.add(event.Event{Kind: event.RankEnded, Attempt: attempt, Worker: r.names[i], Rank: i*ranks + rank, Detail: "exited with 0"}, end-r.some(0, 2))
		}
	}
	r.run(event.AttemptEnded, end, attempt, "", 0)
}

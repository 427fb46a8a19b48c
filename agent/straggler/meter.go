package straggler

import (
	"slices"
	"sync"
	"time"
)

const (
	// kept is the number of step times that are kept of each rank.
	kept = 32
	// enough is the number of step times that a rank needs in a window.
	enough = 12
	// confirm is the number of windows in a row in which a rank must be slow, or not slow any more.
	confirm = 2
	// back is the part of the median below which a straggler is not slow any more. It is below floor,
	// so that a rank near the limit does not go back and forth.
	back = 0.10
	// mostRanks bounds the memory if a program prints wrong rank numbers.
	mostRanks = 100_000
)

// Usual is how long a rank must be slower than the others, unless the user says otherwise.
const Usual = 2 * time.Minute

// Meter keeps the latest step times of each rank, and finds stragglers among them.
type Meter struct {
	window time.Duration // how long a window lasts at least

	mu     sync.Mutex
	opened time.Time // when the current window began
	most   time.Time // when three quarters of the ranks had taken enough steps in it
	ranks  map[int]*rank

	middle   float64 // median of the latest window
	compared int     // number of ranks in it
}

// rank is what is known about one rank.
type rank struct {
	times [kept]float32 // the latest step times in seconds; the next one goes to total%kept
	total uint64        // step times that have come
	until uint64        // total when the rank was judged last

	slow, fine int  // windows in a row in which it was slow, or less than back slower
	named      bool // it is a straggler
}

// New returns a Meter that names ranks which are slow for at least this long, in two windows.
func New(slowFor time.Duration, now time.Time) *Meter {
	return &Meter{window: slowFor / confirm, opened: now, ranks: map[int]*rank{}}
}

// Every returns the time between two step times of a rank that a Meter can use. Shorter steps are
// best added as means over this time, so that a window consists of all of its steps.
func (m *Meter) Every() time.Duration { return m.window / kept }

// Reset forgets all step times, as after a restart or a change of the ranks.
func (m *Meter) Reset(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened, m.most = now, time.Time{}
	clear(m.ranks)
}

// Add adds a step time of a rank in seconds.
func (m *Meter) Add(number int, seconds float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.ranks[number]
	if r == nil {
		if number < 0 || len(m.ranks) >= mostRanks {
			return
		}
		r = &rank{}
		m.ranks[number] = r
	}
	r.times[r.total%kept] = float32(seconds)
	r.total++
}

// Ended forgets a rank, which takes no more steps.
func (m *Meter) Ended(number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ranks, number)
}

// latest returns the latest n step times, at most kept, sorted.
func (r *rank) latest(n uint64) []float64 {
	n = min(n, r.total, kept)
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(r.times[(r.total-1-uint64(i))%kept])
	}
	slices.Sort(list)
	return list
}

// Look judges the ranks if the current window is complete, and returns what has changed, by rank. A
// window is complete after its time, when the ranks have taken enough steps. If three quarters of
// them have, the others get as long again. A rank that still has not, such as one that hangs, is
// judged in a later window.
func (m *Meter) Look(now time.Time) (changes []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.opened) < m.window {
		return nil
	}
	var judged []int
	for number, r := range m.ranks {
		if r.total-r.until >= enough {
			judged = append(judged, number)
		}
	}
	if len(judged) < fewest || len(judged)*4 < len(m.ranks)*3 {
		return nil
	}
	if m.most.IsZero() {
		m.most = now
	}
	if len(judged) < len(m.ranks) && now.Sub(m.opened) < 2*m.most.Sub(m.opened) {
		return nil
	}
	m.opened, m.most = now, time.Time{}
	slices.Sort(judged)
	times := make([]float64, len(judged))
	low := make([]float64, len(judged)) // five of six of its times are above
	for i, number := range judged {
		r := m.ranks[number]
		list := r.latest(r.total - r.until)
		times[i], low[i], r.until = median(list), list[len(list)/6], r.total
	}
	middle, slow := Judge(times)
	m.middle, m.compared = middle, len(judged)
	for i, number := range judged {
		if m.ranks[number].judge(slow[i] && low[i] >= middle*(1+floor/2), times[i] < middle*(1+back)) {
			changes = append(changes, Change{Rank: number, Recovered: !m.ranks[number].named, Time: times[i], Median: middle, Ranks: len(judged)})
		}
	}
	return changes
}

// judge takes the result of a window, and reports whether the rank has become a straggler or has
// recovered.
func (r *rank) judge(slow, fine bool) (changed bool) {
	r.slow, r.fine = counted(r.slow, slow), counted(r.fine, fine)
	if !r.named && r.slow >= confirm || r.named && r.fine >= confirm {
		r.named = !r.named
		return true
	}
	return false
}

func counted(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

// Steps returns the step time of each rank that has taken steps.
func (m *Meter) Steps() map[int]Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[int]Step, len(m.ranks))
	for number, r := range m.ranks {
		s := Step{Seconds: median(r.latest(kept))}
		if r.named {
			s.Straggler, s.Median, s.Ranks = true, m.middle, m.compared
		}
		all[number] = s
	}
	return all
}

// Change says that a rank has become a straggler, or has recovered.
type Change struct {
	Rank      int
	Recovered bool
	Time      float64 // its step time in seconds
	Median    float64 // of all ranks that were compared, in seconds
	Ranks     int     // number of ranks that were compared
}

// Slower returns by which part of the median the rank is slower: 0.31 for 31 %.
func (c Change) Slower() float64 { return c.Time/c.Median - 1 }

// Step is the step time of a rank.
type Step struct {
	Seconds   float64 // median of the latest times
	Straggler bool
	// Median and Ranks are those of the latest window; only of a straggler.
	Median float64
	Ranks  int
}

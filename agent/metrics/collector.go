package metrics

import (
	"bytes"
	"math"
	"sync"
)

// maxPiece is the length in bytes of the longest piece of output that is read. A Writer buffers as
// much.
const maxPiece = 64 << 10

// Series is what was seen of one metric, for the lowest rank that printed it.
type Series struct {
	Spec
	Count int     // numbers seen; if 0, only Unread and Sample are valid
	Rank  int     // the rank; -1: a process without a rank
	Last  float64 // the last number, including NaN and Inf

	Finite   int     // how many of Count are neither NaN nor Inf
	Min, Max float64 // of the finite numbers

	Unread int    // how often something other than a number followed the name
	Sample string // the last such text
}

// Collector finds metrics in the output of ranks.
type Collector struct {
	mu      sync.Mutex
	finders []finder
	series  []Series
	long    int
}

// New returns a Collector for specs from Parse.
func New(specs []Spec) *Collector {
	c := &Collector{}
	for _, spec := range specs {
		f := finder{name: []byte(spec.Name)}
		for _, other := range specs {
			if len(other.Name) > len(spec.Name) && bytes.HasSuffix([]byte(other.Name), f.name) {
				f.longer = append(f.longer, []byte(other.Name))
			}
		}
		c.finders = append(c.finders, f)
		c.series = append(c.series, Series{Spec: spec})
	}
	return c
}

// Line reads one line of rank's output, with or without its newline. It neither keeps nor changes
// the line. Rank -1 is a process without a rank; it counts only if no rank has printed the metric.
func (c *Collector) Line(rank int, line []byte) {
	if c.isOther(line) {
		return
	}
	for rest := plain(line); len(rest) > 0; {
		end := pieceEnd(rest)
		if end > maxPiece {
			c.skip()
		} else {
			c.look(rank, rest[:end])
		}
		rest = rest[min(end+1, len(rest)):]
	}
}

// isOther returns quickly for most lines: they contain no name of a metric.
func (c *Collector) isOther(line []byte) bool {
	if len(line) > maxPiece || bytes.IndexByte(line, escape) >= 0 {
		return false
	}
	for _, f := range c.finders {
		if bytes.Contains(line, f.name) {
			return false
		}
	}
	return true
}

func (c *Collector) look(rank int, piece []byte) {
	for i, f := range c.finders {
		f.scan(piece, func(value float64, _ []byte) { c.add(i, rank, value) },
			func(text []byte) { c.miss(i, text) })
	}
}

func (c *Collector) add(i, rank int, value float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series[i].add(rank, value)
}

// before reports whether rank a takes precedence over rank b.
func before(a, b int) bool { return a != b && (b < 0 || a >= 0 && a < b) }

func (s *Series) add(rank int, value float64) {
	if s.Count > 0 && before(s.Rank, rank) {
		return
	}
	if s.Count > 0 && rank != s.Rank {
		*s = Series{Spec: s.Spec, Unread: s.Unread, Sample: s.Sample}
	}
	s.Rank, s.Last = rank, value
	s.Count++
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	if s.Finite == 0 {
		s.Min, s.Max = value, value
	}
	s.Finite++
	s.Min, s.Max = min(s.Min, value), max(s.Max, value)
}

func (c *Collector) miss(i int, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series[i].Unread++
	c.series[i].Sample = string(bytes.ToValidUTF8(text, []byte("?")))
}

func (c *Collector) skip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.long++
}

// Series returns what was seen so far, in the order of the specs.
func (c *Collector) Series() []Series {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Series(nil), c.series...)
}

// Long returns how many pieces were skipped because they are longer than 64 KiB.
func (c *Collector) Long() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.long
}

// merge adds what other saw after c. Both must have the same specs.
func (c *Collector) merge(other *Collector) {
	later, long := other.Series(), other.Long()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.long += long
	for i := range c.series {
		c.series[i].merge(later[i])
	}
}

func (s *Series) merge(later Series) {
	unread, sample := s.Unread+later.Unread, s.Sample
	if later.Sample != "" {
		sample = later.Sample
	}
	switch {
	case later.Count == 0 || s.Count > 0 && before(s.Rank, later.Rank):
	case s.Count == 0 || s.Rank != later.Rank:
		*s = later
	default:
		if s.Finite > 0 && later.Finite > 0 {
			later.Min, later.Max = min(s.Min, later.Min), max(s.Max, later.Max)
		} else if s.Finite > 0 {
			later.Min, later.Max = s.Min, s.Max
		}
		later.Count, later.Finite = s.Count+later.Count, s.Finite+later.Finite
		*s = later
	}
	s.Unread, s.Sample = unread, sample
}

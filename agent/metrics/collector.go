package metrics

import (
	"bytes"
	"math"
	"sync"
)

// maxPiece is the longest piece of output that is read, in bytes; a Writer
// holds as much.
const maxPiece = 64 << 10

// Series is what was seen of one metric: of the lowest rank that printed it.
type Series struct {
	Spec
	Count int     // numbers seen; 0: the rest has no meaning but Unread and Sample
	Rank  int     // whose they are; -1: of a process that has none
	Last  float64 // the last one, NaN and Inf included

	Finite   int     // how many of Count are neither NaN nor Inf
	Min, Max float64 // of those

	Unread int    // times that something else than a number followed the name
	Sample string // the last such text
}

// Collector looks for metrics in the output of ranks.
type Collector struct {
	mu      sync.Mutex
	finders []finder
	series  []Series
	long    int
}

// New makes a Collector for specs, as Parse gives them.
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

// Line looks at one line of rank's output, with or without its end. The line is
// neither kept nor changed. Rank -1 is a process that has none: it counts where
// no rank has printed the metric.
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

// isOther is the way out for most lines: they have no name that is looked for.
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

// before tells whether rank a counts before rank b.
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

// Series gives what was seen so far, in the order of the specs.
func (c *Collector) Series() []Series {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Series(nil), c.series...)
}

// Long is how many pieces were not read because they are longer than 64 KiB.
func (c *Collector) Long() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.long
}

// merge adds what other saw after c; both have the same specs.
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

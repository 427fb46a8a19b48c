package timeline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// The limits of the page's data. With them the page of 1,000 workers has at most 3 MiB, whatever
// happened.
const (
	mostSpans = 160_000 // of all workers
	mostMarks = 60_000
	mostTexts = 256 << 10 // bytes of different details
	mostKinds = 100       // of events; kinds of newer releases beyond it have one name
)

// pageData is the data of the page. Times are milliseconds after From. A text is its index in Texts, or -1.
type pageData struct {
	From     int64      `json:"from"` // milliseconds after 1970
	Wall     int64      `json:"wall"`
	Phases   []string   `json:"phases"`
	Own      []int      `json:"own"` // the phases that are not shared
	Kinds    []string   `json:"kinds"`
	Texts    []string   `json:"texts"`
	Nodes    []string   `json:"nodes"`
	Attempts [][6]int64 `json:"attempts"` // number, begin, end, 1 if it has ended, exit code, text
	Run      []int64    `json:"run"`      // marks of the run
	// Workers has for each worker its name, the index of its node, its spans and its marks. A span is
	// a letter, A for the first phase, and its length to the base of 36.
	Workers [][4]any `json:"workers"`

	least    time.Duration // spans below it were merged; 0: none
	left     int           // marks that are left out
	leftText int           // marks whose detail is left out
}

// mark is one event on the page. Its numbers are kind, milliseconds after the previous one, rank, how many
// such events it stands for, and text.
type mark struct {
	event.Event
	times int
}

// numbers is the length of a mark in the data.
const numbers = 5

// compact makes the data of a page.
type compact struct {
	t     *Timeline
	data  pageData
	phase map[Phase]byte // its letter
	kinds map[string]int64
	texts map[string]int64
	bytes int // of the texts
}

// pageData returns the data of the page.
func (t *Timeline) pageData() *pageData {
	c := &compact{t: t, phase: map[Phase]byte{}, kinds: map[string]int64{}, texts: map[string]int64{}}
	d := &c.data
	d.From, d.Wall = t.From.UnixMilli(), t.millis(t.To)
	d.Kinds, d.Texts, d.Nodes, d.Attempts, d.Run, d.Workers = []string{}, []string{}, []string{}, [][6]int64{}, []int64{}, [][4]any{}
	for i, a := range Table() {
		c.phase[a.Phase] = 'A' + byte(i)
		d.Phases = append(d.Phases, string(a.Phase))
		if !a.Shared {
			d.Own = append(d.Own, i)
		}
	}
	for _, a := range t.Attempts {
		over := int64(0)
		if a.Over {
			over = 1
		}
		d.Attempts = append(d.Attempts, [6]int64{int64(a.Number), t.millis(a.From), t.millis(a.To), over, int64(a.Exit), c.text(a.Why)})
	}
	d.least = t.leastSpan()
	marks := c.marks()
	d.Run = c.encode(marks[0])
	nodes := map[string]int{}
	for i := range t.Workers {
		w := &t.Workers[i]
		node, known := nodes[w.Node]
		if !known {
			node = len(d.Nodes)
			nodes[w.Node] = node
			d.Nodes = append(d.Nodes, plain(w.Node))
		}
		d.Workers = append(d.Workers, [4]any{plain(w.Name), node, c.spans(w), c.encode(marks[i+1])})
	}
	return d
}

// JSON returns the data for a script element: without "<".
func (d *pageData) JSON() ([]byte, error) { return json.Marshal(d) }

// millis returns a time in milliseconds after From. Times outside of the run are at its ends.
func (t *Timeline) millis(at time.Time) int64 { return (t.micros(at) + 500) / 1000 }

// leastSpan returns the length below which neighboring spans must be merged so that the page is not
// too large; 0 if all spans fit.
func (t *Timeline) leastSpan() (least time.Duration) {
	for least <= t.Wall() {
		n := 0
		for i := range t.Workers {
			n += len(merged(t.Workers[i].Spans, least))
		}
		if n <= mostSpans {
			break
		}
		least = max(2*least, t.Wall()/(1<<16), 1)
	}
	return least
}

// merged returns spans of which no two neighbors are shorter than least. Such neighbors become one
// span, in the phase of the longest.
func merged(spans []Span, least time.Duration) []Span {
	if least == 0 {
		return spans
	}
	var all []Span
	longest := time.Duration(0) // of what the last one is made of
	for _, s := range spans {
		if n := len(all); n > 0 && s.Took() < least && all[n-1].Took() < least {
			all[n-1].To = s.To
			if s.Took() > longest {
				all[n-1].Phase, longest = s.Phase, s.Took()
			}
			continue
		}
		all, longest = append(all, s), s.Took()
	}
	return all
}

// spans returns the spans of a worker as text.
func (c *compact) spans(w *Worker) string {
	var b strings.Builder
	for _, s := range merged(w.Spans, c.data.least) {
		b.WriteByte(c.phase[s.Phase])
		b.WriteString(strconv.FormatInt(c.t.millis(s.To)-c.t.millis(s.From), 36))
	}
	return b.String()
}

// text returns the index of a text in the data. It is -1 without a text, and if there are too many.
func (c *compact) text(text string) int64 {
	text = plain(text)
	if text == "" {
		return -1
	}
	i, known := c.texts[text]
	if !known {
		encoded, err := json.Marshal(text)
		if err != nil || c.bytes+len(encoded) > mostTexts {
			c.data.leftText++
			return -1
		}
		i = int64(len(c.data.Texts))
		c.texts[text] = i
		c.bytes += len(encoded)
		c.data.Texts = append(c.data.Texts, text)
	}
	return i
}

// kind returns the index of a kind in the data.
func (c *compact) kind(k event.Kind) int64 {
	name := plain(string(k))
	i, known := c.kinds[name]
	if !known && len(c.kinds) >= mostKinds {
		name = "other event"
		i, known = c.kinds[name]
	}
	if !known {
		i = int64(len(c.data.Kinds))
		c.kinds[name] = i
		c.data.Kinds = append(c.data.Kinds, name)
	}
	return i
}

// marks returns the marks of the run, and then those of each worker. If there are too many, it leaves
// out the least important ones.
func (c *compact) marks() [][]mark {
	all := [][]mark{c.t.shown(c.t.Notes)}
	for i := range c.t.Workers {
		all = append(all, c.t.shown(c.t.Workers[i].Notes))
	}
	free := mostMarks
	for weight := range lightest + 1 {
		n := 0
		for _, marks := range all {
			n += countOf(marks, weight)
		}
		if n <= free {
			free -= n
			continue
		}
		share := free / len(all) // of each worker
		free = 0
		for i, marks := range all {
			kept := 0
			all[i] = slices.DeleteFunc(marks, func(m mark) bool {
				if weightOf(m.Event) != weight {
					return false
				}
				kept++
				return kept > share
			})
			c.data.left += len(marks) - len(all[i])
		}
	}
	return all
}

func countOf(marks []mark, weight int) (n int) {
	for _, m := range marks {
		if weightOf(m.Event) == weight {
			n++
		}
	}
	return n
}

// lightest is the weight of the least important marks.
const lightest = 3

// weightOf returns how important an event is for the reader; 0 is the most.
func weightOf(e event.Event) int {
	switch e.Kind {
	case event.LinkLost, event.LinkBack, event.Saved:
		return 2
	case event.FirstLine:
		return lightest
	case event.RankEnded:
		if e.Detail == endedWell {
			return lightest
		}
		return 1
	case event.Waiting, event.ImagePulling:
		return 1
	}
	return 0
}

// endedWell is the detail of a rank that has ended as it should.
const endedWell = "exited with 0"

// shown returns the events that have a mark. First lines and ends of ranks with the same result
// share one in each attempt.
func (t *Timeline) shown(notes []event.Event) (all []mark) {
	type same struct {
		kind    event.Kind
		attempt int
		detail  string
	}
	first := map[same]int{}
	for _, e := range notes {
		if !marked(e.Kind) && !onPage(e.Kind) || e.Time.Before(t.From) || e.Time.After(t.To) {
			continue
		}
		if e.Kind == event.FirstLine || e.Kind == event.RankEnded {
			key := same{e.Kind, e.Attempt, e.Detail}
			if i, known := first[key]; known {
				all[i].times++
				continue
			}
			first[key] = len(all)
		}
		all = append(all, mark{e, 1})
	}
	slices.SortStableFunc(all, func(a, b mark) int { return cmp.Compare(t.millis(a.Time), t.millis(b.Time)) })
	return all
}

// onPage reports whether the page marks a kind that Chrome's trace does not mark.
func onPage(k event.Kind) bool {
	switch k {
	case event.ImagePulling, event.Stalled, event.Saved, event.StopAsked, event.Restart:
		return true
	}
	return false
}

// encode returns marks as numbers.
func (c *compact) encode(marks []mark) []int64 {
	all := make([]int64, 0, numbers*len(marks))
	last := int64(0)
	for _, m := range marks {
		at := c.t.millis(m.Time)
		rank := int64(event.NoRank)
		if m.times == 1 {
			rank = int64(max(m.Rank, event.NoRank))
		}
		all = append(all, c.kind(m.Kind), at-last, rank, int64(m.times), c.text(m.Detail))
		last = at
	}
	return all
}

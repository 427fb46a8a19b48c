package main

import (
	"container/heap"
	"math/rand/v2"
)

// clock runs events in the order of their times, and of their making where these are
// the same.
type clock struct {
	now    float64 // seconds
	events events
	made   int
	luck   *rand.Rand // nil: everything takes its mean
}

type event struct {
	at   float64
	made int
	do   func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].made < e[j].made
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// after does something when d seconds have gone by.
func (c *clock) after(d float64, do func()) {
	c.made++
	heap.Push(&c.events, event{c.now + d, c.made, do})
}

// run goes on until nothing is left to do.
func (c *clock) run() {
	for len(c.events) > 0 {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
}

// spread is a cost with luck in it, of the same mean.
func (c *clock) spread(cost float64) float64 {
	if c.luck == nil {
		return cost
	}
	return cost * (0.5 + c.luck.Float64())
}

// station is processors with one queue.
type station struct {
	clock *clock
	cores int
	busy  int
	queue []task
	head  int
	used  float64 // seconds of processor
}

type task struct {
	cost float64
	then func()
}

// work takes one core for the cost, when its turn has come.
func (s *station) work(cost float64, then func()) {
	s.queue = append(s.queue, task{s.clock.spread(cost), then})
	s.next()
}

func (s *station) next() {
	for s.busy < s.cores && s.head < len(s.queue) {
		t := s.queue[s.head]
		s.queue[s.head] = task{}
		if s.head++; s.head == len(s.queue) {
			s.queue, s.head = s.queue[:0], 0
		}
		s.busy++
		s.used += t.cost
		s.clock.after(t.cost, func() {
			s.busy--
			t.then()
			s.next()
		})
	}
}

// gate is what dials of one process pass: so many in a second and a burst at first,
// which is exec/link's, or so many at once.
type gate struct {
	clock       *clock
	rate, burst float64 // rate 0: any
	most        int     // at once; 0: any
	tokens, at  float64 // what there is, at that time; less than none: promised
	inside      int
	waiting     []func()
}

func newGate(c *clock, rate, burst float64, most int) *gate {
	return &gate{clock: c, rate: rate, burst: burst, most: most, tokens: burst}
}

// enter goes on when the gate has let it through; who has entered must leave.
func (g *gate) enter(then func()) {
	if g.most > 0 && g.inside == g.most {
		g.waiting = append(g.waiting, then)
		return
	}
	g.inside++
	if g.rate == 0 {
		then()
		return
	}
	g.tokens = min(g.burst, g.tokens+(g.clock.now-g.at)*g.rate) - 1
	g.at = g.clock.now
	g.clock.after(max(0, -g.tokens/g.rate), then)
}

func (g *gate) leave() {
	g.inside--
	if len(g.waiting) > 0 {
		then := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.enter(then)
	}
}

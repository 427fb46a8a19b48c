package main

import (
	"container/heap"
	"math/rand/v2"
)

// site is the machines of a cluster.
type site struct {
	LauncherCores int
	Servers       int // API servers, each with
	ServerCores   int
	PerNode       int // workers on a node, which has
	NodeCores     int
	Shared        int // cores that are all of it: a test machine; 0: none
}

// large is a site that could have 100,000 workers.
func large() site {
	return site{LauncherCores: 4, Servers: 3, ServerCores: 16, PerNode: 32, NodeCores: 64}
}

// world is a site with a launch going on, and what is counted.
type world struct {
	clock
	costs    Costs
	site     site
	launcher *station
	servers  []*station
	nodes    []*station
	shared   *station

	streams, peakStreams int
	links, peakLinks     [2]int  // of the launcher's: by exec, by TCP
	most, longest        float64 // MB for the launcher's links; seconds of a dial by exec
	requests             int
	second               map[int]int // requests by second
	greeted, launched    []int       // how often, by worker
}

func newWorld(costs Costs, s site, n int, seed uint64) *world {
	w := &world{costs: costs, site: s, second: map[int]int{}, greeted: make([]int, n+1), launched: make([]int, n+1)}
	if seed != 0 {
		w.luck = rand.New(rand.NewPCG(seed, 0))
	}
	station := func(cores int) *station {
		if s.Shared == 0 {
			return &station{clock: &w.clock, cores: cores}
		}
		if w.shared == nil {
			w.shared = &station{clock: &w.clock, cores: s.Shared}
		}
		return w.shared
	}
	w.launcher = station(s.LauncherCores)
	for range s.Servers {
		w.servers = append(w.servers, station(s.ServerCores))
	}
	for range (n + s.PerNode - 1) / s.PerNode {
		w.nodes = append(w.nodes, station(s.NodeCores))
	}
	return w
}

// node is where v runs; 0 is the launcher.
func (w *world) node(v int) *station {
	if v == 0 {
		return w.launcher
	}
	return w.nodes[(v-1)/w.site.PerNode]
}

// server is the one that carries v's stream.
func (w *world) server(v int) *station { return w.servers[v%len(w.servers)] }

// request counts one at an API server.
func (w *world) request() {
	w.requests++
	w.second[int(w.now)]++
}

// cost is a step of a chain: seconds of work on a station; no station: of waiting.
type cost struct {
	on *station
	s  float64
}

// chain does one step after the other.
func (w *world) chain(steps []cost, then func()) {
	if len(steps) == 0 {
		then()
		return
	}
	next := func() { w.chain(steps[1:], then) }
	if steps[0].on == nil {
		w.after(steps[0].s, next)
		return
	}
	steps[0].on.work(steps[0].s, next)
}

// exec opens a stream to worker v through an API server, and greets it over that.
func (w *world) exec(from, v int, g *gate, up func()) {
	c := w.costs
	g.enter(func() {
		began := w.now
		w.hold(from, 0, 1)
		w.chain([]cost{{w.node(from), c.DialCPU}, {nil, c.Way}}, func() {
			w.request()
			w.streams++
			w.peakStreams = max(w.peakStreams, w.streams)
			w.chain([]cost{{w.server(v), c.ServerDial}, {nil, c.Way}, {w.node(v), c.NodeExec + c.Hello}, {nil, c.Way},
				{w.server(v), c.ServerFrame}, {nil, c.Way}, {w.node(from), c.Hello}}, func() {
				w.longest = max(w.longest, w.now-began)
				g.leave()
				up()
			})
		})
	})
}

// hangUp ends such a stream.
func (w *world) hangUp(from int) {
	w.streams--
	w.hold(from, 0, -1)
}

// dial connects to worker v over the pod network.
func (w *world) dial(from, v int, up func()) {
	c := w.costs
	w.hold(from, 1, 1)
	w.chain([]cost{{nil, 3 * c.Way}, {w.node(from), c.TLSClient}, {w.node(v), c.TLSServer + c.Hello}, {nil, c.Way}, {w.node(from), c.Hello}}, up)
}

// hold counts the launcher's links of a kind, and its memory for them.
func (w *world) hold(from, kind, n int) {
	if from != 0 {
		return
	}
	w.links[kind] += n
	w.peakLinks[kind] = max(w.peakLinks[kind], w.links[kind])
	w.most = max(w.most, float64(w.links[0])*w.costs.LauncherLink+float64(w.links[1])*w.costs.TLSLink)
}

// frame goes over the link between a worker v and its parent, either way.
func (w *world) frame(d design, from, to, v int, then func()) {
	steps := []cost{{w.node(from), w.costs.Frame}, {nil, w.costs.Way}}
	if !d.direct {
		steps = append(steps, cost{w.server(v), w.costs.ServerFrame}, cost{nil, w.costs.Way})
	}
	w.chain(append(steps, cost{w.node(to), w.costs.Frame}), then)
}

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

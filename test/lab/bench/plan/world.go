package main

import (
	"container/heap"
	"math/rand/v2"
)

// site describes the machines of a cluster.
type site struct {
	LauncherCores int
	Servers       int // number of API servers
	ServerCores   int // of each API server
	PerNode       int // workers on each node
	NodeCores     int // of each node
	Shared        int // cores of a single machine that runs everything, as in a test; 0: separate machines
}

// large is a site that could have 100,000 workers.
func large() site {
	return site{LauncherCores: 4, Servers: 3, ServerCores: 16, PerNode: 32, NodeCores: 64}
}

// world is a site during a launch, with its counters.
type world struct {
	clock
	costs    Costs
	site     site
	launcher *station
	servers  []*station
	nodes    []*station
	shared   *station

	streams, peakStreams int
	links                [3]int  // links of the launcher: by exec, by TCP, sealed
	most, longest        float64 // MB for the launcher's links at their peak; seconds of the longest dial by exec
	requests             int
	second               map[int]int // requests by second
	greeted, launched    []int       // counts by worker
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

// node returns the station on which v runs; 0 is the launcher.
func (w *world) node(v int) *station {
	if v == 0 {
		return w.launcher
	}
	return w.nodes[(v-1)/w.site.PerNode]
}

// server returns the API server that carries v's stream.
func (w *world) server(v int) *station { return w.servers[v%len(w.servers)] }

// request counts a request at an API server.
func (w *world) request() {
	w.requests++
	w.second[int(w.now)]++
}

// cost is a step of a chain: seconds of work on a station, or of waiting if there is no station.
type cost struct {
	on *station
	s  float64
}

// chain runs one step after the other, then calls then.
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

// exec opens a stream to worker v through an API server, and does the handshake.
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

// hangUp ends a stream that exec opened.
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

// hold counts the launcher's links of a kind, and the memory for them.
func (w *world) hold(from, kind, n int) {
	if from != 0 {
		return
	}
	w.links[kind] += n
	w.most = max(w.most, float64(w.links[0])*w.costs.LauncherLink+float64(w.links[1])*w.costs.TLSLink+float64(w.links[2])*w.costs.SealedLink)
}

// frame carries a frame over the link between worker v and its parent, in either direction.
func (w *world) frame(d design, from, to, v int, then func()) {
	steps := []cost{{w.node(from), w.costs.Frame}, {nil, w.costs.Way}}
	if !d.direct {
		steps = append(steps, cost{w.server(v), w.costs.ServerFrame}, cost{nil, w.costs.Way})
	}
	w.chain(append(steps, cost{w.node(to), w.costs.Frame}), then)
}

// clock runs events in the order of their times; events with the same time run in the order of their
// creation.
type clock struct {
	now    float64 // seconds
	events events
	made   int
	luck   *rand.Rand // nil: every step takes its mean cost
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

// after schedules do in d seconds.
func (c *clock) after(d float64, do func()) {
	c.made++
	heap.Push(&c.events, event{c.now + d, c.made, do})
}

// run processes events until none is left.
func (c *clock) run() {
	for len(c.events) > 0 {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
}

// spread returns a random cost whose mean is cost.
func (c *clock) spread(cost float64) float64 {
	if c.luck == nil {
		return cost
	}
	return cost * (0.5 + c.luck.Float64())
}

// station is a number of cores with one queue.
type station struct {
	clock *clock
	cores int
	busy  int
	queue []task
	head  int
	used  float64 // seconds of CPU time
}

type task struct {
	cost float64
	then func()
}

// work queues a task, which takes one core for cost seconds.
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

// gate limits the dials of one process: a rate per second after an initial burst, like a former gate of
// exec/link, or a number of concurrent dials.
type gate struct {
	clock       *clock
	rate, burst float64 // rate 0: no limit
	most        int     // concurrent dials; 0: no limit
	tokens, at  float64 // tokens available at that time; negative: reserved in advance
	inside      int
	waiting     []func()
}

func newGate(c *clock, rate, burst float64, most int) *gate {
	return &gate{clock: c, rate: rate, burst: burst, most: most, tokens: burst}
}

// enter calls then when the gate admits it. The caller must call leave afterwards.
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

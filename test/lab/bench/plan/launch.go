package main

import "maps"

// result holds the figures of a simulated launch.
type result struct {
	Greeted, Launched          float64 // seconds until all have answered the handshake, and until the last first line
	LauncherCPU, LauncherMB    float64
	ServerCPU                  float64 // of all API servers, seconds
	Goroutines, PeakGoroutines float64 // while the job runs; peak
	ServerMB                   float64 // while the job runs
	Streams                    int     // while the job runs
	Requests, PeakRequests     int     // until the last first line; in the busiest second
	Longest                    float64 // longest dial by exec, until the worker's answer, in seconds
	Depth                      int
	greeted, launched          []int
}

// launch simulates a design at a size.
func launch(costs Costs, s site, d design, n, fanout int, seed uint64) result {
	if !d.tree {
		fanout = 0
	}
	l := &launching{world: newWorld(costs, s, n, seed), d: d, shape: shape{n, fanout}, n: n,
		up: make([]bool, n+1), known: make([]bool, n+1), gates: map[int]*gate{}}
	l.up[0] = true
	l.after(costs.Start, l.list)
	l.run()
	return l.result()
}

// launching is the state of a simulated launch.
type launching struct {
	*world
	d         design
	shape     shape
	n         int
	up, known []bool // up: linked to its parent; known: the launcher has the data that dialing it needs
	gates     map[int]*gate
	greetings int
	lines     int
	res       result
}

// list reads all pods in one answer, as rendezvous.Watch does, and then dials.
func (l *launching) list() {
	l.request()
	n := float64(l.n)
	l.chain([]cost{{nil, l.costs.Way}, {l.server(0), n * l.costs.ServerPod}, {nil, l.costs.Way}, {l.launcher, n * l.costs.Pod}}, func() {
		for v := 1; v <= l.n; v++ {
			l.meet(v)
		}
	})
}

// meet makes the first contact with v, if the design has one.
func (l *launching) meet(v int) {
	if !l.d.contact {
		l.known[v] = true
		l.link(v)
		return
	}
	l.exec(0, v, l.gate(0), func() {
		l.hangUp(0)
		l.known[v] = true
		l.link(v)
	})
}

func (l *launching) gate(v int) *gate {
	if l.gates[v] == nil {
		l.gates[v] = newGate(&l.clock, l.d.rate, pastBurst, l.d.most)
	}
	return l.gates[v]
}

// link links v to its parent once v is known and its parent is up.
func (l *launching) link(v int) {
	parent := l.shape.parent(v)
	if !l.known[v] || !l.up[parent] {
		return
	}
	up := func() {
		l.up[v] = true
		first, end := l.shape.children(v)
		for child := first; child < end; child++ {
			l.link(child)
		}
	}
	greet := func() { up(); l.rise(v, parent, l.answered(v)) }
	switch {
	case l.d.sealed:
		l.seal(v, up)
	case l.d.direct:
		l.dial(parent, v, greet)
	default:
		l.exec(parent, v, l.gate(parent), greet)
	}
}

// seal has the launcher and v prove themselves to each other, through the relays on the way. What
// relays pass on is sealed, so it costs the launcher as much as a connection of its own.
func (l *launching) seal(v int, up func()) {
	c := l.costs
	l.hold(0, 2, 1)
	l.launcher.work(c.Prove, func() {
		l.descend(v, 0, l.shape.path(v), func() {
			l.node(v).work(c.Admit+c.Hello, func() {
				l.rise(v, v, func() {
					l.launcher.work(c.Hello, func() {
						up()
						l.answered(v)()
					})
				})
			})
		})
	})
}

// rise carries a frame of v from worker at up to the launcher.
func (l *launching) rise(v, at int, arrived func()) {
	if at == 0 {
		arrived()
		return
	}
	l.frame(l.d, at, l.shape.parent(at), at, func() { l.rise(v, l.shape.parent(at), arrived) })
}

// answered returns the launcher's reaction to v's answer to the handshake. After the last answer the launcher opens
// all sessions.
func (l *launching) answered(v int) func() {
	return func() {
		l.greeted[v]++
		if l.greetings++; l.greetings < l.n {
			return
		}
		l.res.Greeted = l.now
		for v := 1; v <= l.n; v++ {
			l.launcher.work(l.costs.Session, func() {
				l.descend(v, 0, l.shape.path(v), func() { l.startProcess(v) })
			})
		}
	}
}

// descend carries a frame from worker at down to v.
func (l *launching) descend(v, at int, path []int, arrived func()) {
	if at == v {
		arrived()
		return
	}
	l.frame(l.d, at, path[0], path[0], func() { l.descend(v, path[0], path[1:], arrived) })
}

// startProcess starts v's process, and carries its first line to the launcher.
func (l *launching) startProcess(v int) {
	l.node(v).work(l.costs.ProcessStart, func() {
		l.rise(v, v, func() {
			l.launched[v]++
			if l.lines++; l.lines == l.n {
				l.res.Launched = l.now
			}
		})
	})
}

func (l *launching) result() result {
	c, r := l.costs, l.res
	r.greeted, r.launched = l.greeted[1:], l.launched[1:]
	r.LauncherCPU = l.launcher.used
	for _, s := range l.servers {
		r.ServerCPU += s.used
	}
	r.LauncherMB = c.LauncherBase + l.most + float64(l.n)*c.LauncherWorker
	r.Streams = l.streams
	r.Goroutines = float64(l.streams) * c.ServerGoroutines
	r.PeakGoroutines = float64(l.peakStreams) * c.ServerGoroutines
	r.ServerMB = float64(l.streams) * c.ServerStream
	r.Requests, r.Longest = l.requests, l.longest
	for n := range maps.Values(l.second) {
		r.PeakRequests = max(r.PeakRequests, n)
	}
	r.Depth = l.shape.depth()
	return r
}

// design is a way from a launcher to its workers.
type design struct {
	name string
	// direct: links go from the dialing process to PID 1 over the pod network, not through an exec.
	direct bool
	// contact: before the link, an exec gives each worker the data that it needs to trust its caller, and ends.
	contact bool
	// sealed: the launcher itself shakes hands with each worker, and relays pass on bytes that they
	// cannot read. Otherwise a worker trusts its relay.
	sealed bool
	// tree: workers dial workers. Otherwise the launcher dials all.
	tree bool
	// rate limits the dials by exec of each process, per second; 0: no limit.
	rate float64
	// most limits the concurrent dials by exec of each process; 0: no limit.
	most int
}

// Limits of exec/link's gate, and of the gate that preceded it.
const (
	most      = 64
	pastRate  = 200
	pastBurst = 40
)

// designs returns the designs in the order of the table. Muster has the first, --transport=exec, and the
// last, --transport=network.
func designs() []design {
	return []design{
		{name: "direct, 64 dials at once", most: most},
		{name: "direct, 200 dials a second", rate: pastRate},
		{name: "relays by exec", tree: true, most: most},
		{name: "pod network after an exec", direct: true, contact: true, most: most},
		{name: "pod network after an exec, tree", direct: true, contact: true, tree: true, most: most},
		{name: "pod network, token mounted, tree", direct: true, tree: true},
		{name: "pod network, key mounted, sealed tree", direct: true, sealed: true, tree: true},
	}
}

// shape defines which process dials which worker: the launcher is 0, workers are 1 to n.
type shape struct {
	n, fanout int // fanout 0: the launcher dials all
}

func (s shape) parent(v int) int {
	if s.fanout == 0 {
		return 0
	}
	return (v - 1) / s.fanout
}

// children returns the range of v's children: the first, and the one after the last.
func (s shape) children(v int) (first, end int) {
	switch {
	case s.fanout != 0:
		return min(v*s.fanout+1, s.n+1), min((v+1)*s.fanout+1, s.n+1)
	case v == 0:
		return 1, s.n + 1
	}
	return 0, 0
}

// depth is the number of links between the launcher and the farthest worker.
func (s shape) depth() (d int) {
	for v := s.n; v > 0; v = s.parent(v) {
		d++
	}
	return d
}

// path returns the workers on the way from the launcher to v. v is the last.
func (s shape) path(v int) (all []int) {
	for ; v > 0; v = s.parent(v) {
		all = append([]int{v}, all...)
	}
	return all
}

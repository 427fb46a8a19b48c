package main

// design is a way from a launcher to its workers.
type design struct {
	name string
	// direct: links go from whoever dials to PID 1 over the pod network, not through an exec.
	direct bool
	// contact: before that, an exec gives each worker what it needs to trust its caller, and ends.
	contact bool
	// tree: workers dial workers; else the launcher dials all.
	tree bool
	// rate of dials by exec, of each process that dials, per second; 0: any.
	rate float64
	// most dials by exec at once, of each process that dials; 0: any.
	most int
}

// Of exec/link's gate, and of the one that was there before it.
const (
	most      = 64
	pastRate  = 200
	pastBurst = 40
)

// designs in the order of the table. The first is what Muster does.
func designs() []design {
	return []design{
		{name: "direct, 64 dials at once", most: most},
		{name: "direct, 200 dials a second", rate: pastRate},
		{name: "relays by exec", tree: true, most: most},
		{name: "pod network after an exec", direct: true, contact: true, most: most},
		{name: "pod network after an exec, tree", direct: true, contact: true, tree: true, most: most},
		{name: "pod network, token mounted, tree", direct: true, tree: true},
	}
}

// shape says who dials whom: the launcher is 0, workers are 1 to n.
type shape struct {
	n, fanout int // fanout 0: the launcher dials all
}

func (s shape) parent(v int) int {
	if s.fanout == 0 {
		return 0
	}
	return (v - 1) / s.fanout
}

// children of v, as the first and the one behind the last.
func (s shape) children(v int) (first, end int) {
	switch {
	case s.fanout != 0:
		return min(v*s.fanout+1, s.n+1), min((v+1)*s.fanout+1, s.n+1)
	case v == 0:
		return 1, s.n + 1
	}
	return 0, 0
}

// depth is how many links lie between the launcher and the farthest worker.
func (s shape) depth() (d int) {
	for v := s.n; v > 0; v = s.parent(v) {
		d++
	}
	return d
}

// path are those between the launcher and v, from the launcher on: v is the last.
func (s shape) path(v int) (all []int) {
	for ; v > 0; v = s.parent(v) {
		all = append([]int{v}, all...)
	}
	return all
}

package group

import "time"

// departure is a worker that was told to stop from outside, and the grace of the other processes.
type departure struct {
	worker string
	grace  time.Duration
}

// held is a worker whose processes are told to stop after others have ended.
type held struct {
	worker string // "": none
	until  time.Time
	told   bool
}

func (h *held) holds(p *process) bool { return h.worker == p.Worker && !h.told }

// Leave asks the processes on all other workers to end, because the given worker was told to stop
// from outside: ranks that save together need each other. The worker asks its own ranks. Its other
// processes are told after the ranks have ended, because one of them may serve these, like
// torchrun's store. The leaving worker stays the cause. Leave does nothing once the group is about
// to end.
func (g *Group) Leave(worker string, grace time.Duration) {
	select {
	case g.leaving <- departure{worker, grace}:
	case <-g.gone:
	}
}

// leave handles a departure. Serving processes are told later, as usual.
func (g *Group) leave(d departure) {
	if g.phase != running || g.departs.worker != "" {
		return
	}
	g.departs = held{worker: d.worker, until: time.Now().Add(d.grace)}
	g.keepLast(d.grace)
	g.tell(0, d.grace)
	g.look()
}

// keepLast arranges that the processes on the last worker are told after all others have ended. Its
// ranks are asked now.
func (g *Group) keepLast(grace time.Duration) {
	if g.cfg.Last == "" || g.cfg.Last == g.departs.worker || g.keeps.worker != "" {
		return
	}
	g.keeps = held{worker: g.cfg.Last, until: time.Now().Add(grace)}
	for _, p := range g.processes {
		if p.Worker == g.cfg.Last && p.session != nil && !p.ended && !p.told {
			p.told, p.asked = true, time.Now()
		}
	}
	g.cfg.Ask(g.cfg.Last, grace)
}

// release tells held processes to stop, when the ones that they wait for have ended.
func (g *Group) release() {
	if h := &g.departs; h.worker != "" && !h.told && g.endedBut(h.worker, g.keeps.worker) {
		g.letGo(h)
	}
	if h := &g.keeps; h.worker != "" && !h.told && g.endedBut(h.worker, h.worker) {
		g.letGo(h)
	}
}

func (g *Group) letGo(h *held) {
	h.told = true
	for _, p := range g.processes {
		if !p.ended && p.Worker == h.worker && p.session != nil {
			p.session.Stop(max(0, time.Until(h.until)))
		}
	}
}

// endedBut reports whether all working processes on other workers have ended.
func (g *Group) endedBut(one, other string) bool {
	for _, p := range g.processes {
		if !p.ended && p.tier == 0 && p.Worker != one && p.Worker != other {
			return false
		}
	}
	return true
}

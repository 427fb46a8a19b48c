package group

import "time"

// departure is a worker that was told to stop from outside, and how long the others have.
type departure struct {
	worker string
	grace  time.Duration
}

// Leave asks the processes on all other workers to end, as that worker was told to stop from
// outside: ranks that save together need each other. The worker asks its own. They are told
// when the others have ended, as one of them may hold what serves these, like torchrun's
// store; and they stay the cause. It does nothing once the group is about to end.
func (g *Group) Leave(worker string, grace time.Duration) {
	select {
	case g.leaving <- departure{worker, grace}:
	case <-g.gone:
	}
}

// leave carries out a departure. What serves is told later, as ever.
func (g *Group) leave(d departure) {
	if g.phase != running || g.departs != "" {
		return
	}
	g.departs = d.worker
	for _, m := range g.members {
		if m.Worker != d.worker && m.tier == 0 {
			m.tell(d.grace)
		}
	}
	g.look()
}

// release tells the processes of the worker that departs, when the others have ended.
func (g *Group) release() {
	if g.departs == "" || g.released {
		return
	}
	for _, m := range g.members {
		if !m.ended && m.Worker != g.departs && m.tier == 0 {
			return
		}
	}
	g.released = true
	for _, m := range g.members {
		if !m.ended && m.Worker == g.departs && m.session != nil {
			m.session.Stop(g.cfg.Grace)
		}
	}
}

package group

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/wire"
)

// serveGrace limits the grace of serving processes after the group has failed: the working
// processes have had their own, and the run must end soon.
const serveGrace = 1500 * time.Millisecond

// rankTiers assigns the processes to the tiers in which they are stopped: first the working ones,
// then the serving ones in the order of the processes. Adjacent processes of one role share a tier.
func rankTiers(processes []*process) (last int) {
	role := ""
	for _, p := range processes {
		if p.Part != framework.Serves {
			continue
		}
		if last == 0 || p.Role != role {
			last, role = last+1, p.Role
		}
		p.tier = last
	}
	return last
}

// look decides what to do after an end.
func (g *Group) look() {
	g.release()
	switch g.phase {
	case running, settling, witnessing:
		switch {
		case g.decided():
			g.succeed()
		case g.phase != running && g.ended(g.last):
			g.conclude()
		case g.phase == running && g.Failed():
			g.phase = settling
			g.timer.Reset(settleTime)
			g.look()
		case g.phase == settling:
			g.examine()
		case g.ended(g.last):
			g.phase = over
		}
	case lingering:
		if g.ended(g.last) {
			g.phase = over
		}
	case stopping:
		if g.ended(g.tier) {
			g.nextTier()
		}
	}
}

// examine offers new failures to the witness until it looks at the other processes.
func (g *Group) examine() {
	for ; g.examined < len(g.failures) && g.cfg.Witness != nil && g.called.IsZero(); g.examined++ {
		if g.seen = g.witness(g.failure(g.failures[g.examined])); g.seen != nil {
			g.called = time.Now()
		}
	}
}

// decided reports whether the group has succeeded, whatever still runs. Processes that were asked to
// end because a worker leaves have not done their work.
func (g *Group) decided() bool {
	if g.departs.worker != "" {
		return false
	}
	if g.cfg.Any {
		return slices.ContainsFunc(g.processes, func(p *process) bool { return p.good && p.Part != framework.Serves })
	}
	if some, good := g.allGood(framework.Decides); some {
		return good
	}
	some, good := g.allGood(framework.Works)
	return some && good
}

// allGood reports whether processes have a part, and whether all of them succeeded. It stops at the
// first that has not, because thousands of ends each ask.
func (g *Group) allGood(part framework.Part) (some, good bool) {
	for _, p := range g.processes {
		if p.Part != part {
			continue
		}
		if some = true; !p.good {
			return true, false
		}
	}
	return some, true
}

// Failed reports whether the group has a failure that it does not tolerate. It is for OnEnd.
func (g *Group) Failed() bool {
	if !g.cfg.Any {
		return len(g.failures) > 0
	}
	for _, e := range g.failures {
		if g.processes[e.Process].Part == framework.Serves {
			return true
		}
	}
	if len(g.failures) == 0 {
		return false
	}
	return !slices.ContainsFunc(g.processes, func(p *process) bool { return !p.ended && p.Part != framework.Serves })
}

// fatal returns the failures that may have caused the group's. With Any the group survives single
// failures, so only a failed server counts. Without one, failures that the others outlived do not.
func (g *Group) fatal() []End {
	if !g.cfg.Any {
		return g.failures
	}
	if servers := slices.DeleteFunc(slices.Clone(g.failures), func(e End) bool { return g.processes[e.Process].Part != framework.Serves }); len(servers) > 0 {
		return servers
	}
	return notOutlived(g.failures)
}

// ended reports whether every process up to that tier has ended.
func (g *Group) ended(tier int) bool {
	for _, p := range g.processes {
		if !p.ended && p.tier <= tier {
			return false
		}
	}
	return true
}

// succeed ends what no longer needs to run. With Any the other processes are as good as the first,
// so they may end by themselves.
func (g *Group) succeed() {
	if g.cfg.Any && !g.ended(g.last) {
		g.phase = lingering
		g.timer.Reset(cmp.Or(g.cfg.Linger, g.cfg.Grace))
		return
	}
	g.stop()
}

// mostBeside limits Failure.Beside.
const mostBeside = 16

// conclude determines the cause and stops the other processes.
func (g *Group) conclude() {
	first := cause(g.fatal())
	c := g.failure(first)
	for _, e := range g.failures {
		if e.Process != first.Process && len(c.Beside) < mostBeside {
			c.Beside = append(c.Beside, g.failure(e))
		}
	}
	g.result.Code, g.result.Cause, g.result.Others = c.Code(), &c, len(g.failures)-1
	if g.cfg.OnFailure != nil {
		g.cfg.OnFailure(c, g.result.Others)
	}
	g.grace = g.cfg.FailGrace
	if c.Exit.Reason == wire.ReasonPreempted || g.departs.worker != "" || g.cfg.Calm != nil && g.cfg.Calm() {
		g.grace = g.cfg.Grace
	}
	g.stop()
}

// due is called when the time of a phase is over.
func (g *Group) due() {
	switch g.phase {
	case settling:
		if left := g.cfg.WitnessTime - time.Since(g.called); g.seen != nil && left > 0 {
			g.phase = witnessing
			g.timer.Reset(left)
			return
		}
		g.conclude()
	case witnessing:
		g.conclude()
	case lingering:
		g.stop()
	case stopping:
		g.abandon()
		g.nextTier()
	}
}

// stop starts to stop all running processes, tier by tier.
func (g *Group) stop() {
	g.phase, g.tier = stopping, -1
	g.nextTier()
}

// nextTier stops the next tier with a running process. After the last one the run is over.
func (g *Group) nextTier() {
	for g.tier++; g.tier <= g.last; g.tier++ {
		grace := g.grace
		if g.tier > 0 && g.result.Cause != nil {
			grace = min(grace, serveGrace)
		}
		g.tell(g.tier, grace)
		if !g.ended(g.tier) {
			g.timer.Reset(grace + stopMargin)
			return
		}
	}
	g.phase = over
}

// tell stops the processes up to a tier. Processes that were not started will not be.
func (g *Group) tell(tier int, grace time.Duration) {
	for _, p := range g.processes {
		isHeld := grace > 0 && p.session != nil && (g.departs.holds(p) || g.keeps.holds(p))
		if !p.ended && p.tier <= tier && !isHeld {
			p.tell(grace)
		}
	}
}

// tell stops the process. A second call only kills it.
func (p *process) tell(grace time.Duration) {
	switch {
	case p.session == nil:
		p.told, p.ended = true, true
		p.close() // nothing has been written
		return
	case !p.told:
		p.told, p.asked = true, time.Now()
	case grace > 0:
		return
	}
	p.session.Stop(grace)
}

// abandon gives up the processes that should have ended.
func (g *Group) abandon() {
	for _, p := range g.processes {
		if !p.ended && p.tier <= g.tier {
			g.result.Left = append(g.result.Left, p.Label+" on "+p.Worker)
			p.ended = true
		}
	}
}

// obey handles a signal.
func (g *Group) obey(sig syscall.Signal) {
	switch sig {
	case syscall.SIGTERM, syscall.SIGINT:
		if g.phase != stopping {
			g.told = true
			g.keepLast(g.grace)
			g.stop()
			g.release()
		}
	case syscall.SIGKILL:
		g.told = g.told || g.phase != stopping
		g.phase, g.tier = stopping, g.last
		g.tell(g.tier, 0)
		g.timer.Reset(stopMargin)
		g.look()
	default:
		for _, p := range g.processes {
			if s, ok := p.session.(interface{ Signal(int) }); ok && !p.ended {
				s.Signal(int(sig))
			}
		}
	}
}

package group

import "context"

// joiner is a Process to add, and the answer whether it was added.
type joiner struct {
	Process
	taken chan bool
}

// Add starts one more process beside the running ones. It returns false if the group has failed or
// is about to end. In either case the writers of p are closed when they are no longer needed.
func (g *Group) Add(p Process) bool {
	j := joiner{p, make(chan bool, 1)}
	select {
	case g.joining <- j:
		return <-j.taken
	case <-g.gone:
		(&process{Process: p, err: &tail{to: p.Stderr}}).close()
		return false
	}
}

// Worker returns the worker of a process, for OnEnd and OnFailure.
func (g *Group) Worker(i int) string { return g.processes[i].Worker }

// Label returns the label of a process, for OnEnd and OnFailure.
func (g *Group) Label(i int) string { return g.processes[i].Label }

func (g *Group) join(waiting context.Context, p Process) bool {
	one := &process{Process: p, err: &tail{to: p.Stderr}}
	if g.phase != running || g.departs.worker != "" {
		one.close()
		return false
	}
	g.processes = append(g.processes, one)
	g.last = rankTiers(g.processes)
	g.start(waiting, len(g.processes)-1)
	g.proceed(waiting)
	g.look()
	return true
}

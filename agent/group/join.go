package group

import "context"

// joiner is a Member to add, and the answer whether it was added.
type joiner struct {
	Member
	taken chan bool
}

// Add starts one more process beside the running ones. It returns false if the group has failed or
// is about to end. In either case the writers of m are closed when they are no longer needed.
func (g *Group) Add(m Member) bool {
	j := joiner{m, make(chan bool, 1)}
	select {
	case g.joining <- j:
		return <-j.taken
	case <-g.gone:
		(&member{Member: m, err: &tail{to: m.Stderr}}).close()
		return false
	}
}

// Worker returns the worker of a member, for OnEnd and OnFailure.
func (g *Group) Worker(i int) string { return g.members[i].Worker }

// Label returns the label of a member, for OnEnd and OnFailure.
func (g *Group) Label(i int) string { return g.members[i].Label }

func (g *Group) join(waiting context.Context, m Member) bool {
	one := &member{Member: m, err: &tail{to: m.Stderr}}
	if g.phase != running {
		one.close()
		return false
	}
	g.members = append(g.members, one)
	g.last = rankTiers(g.members)
	g.start(waiting, len(g.members)-1)
	g.look()
	return true
}

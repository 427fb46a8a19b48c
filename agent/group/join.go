package group

import "context"

// joiner is a Member that is to join, and the answer whether it does.
type joiner struct {
	Member
	taken chan bool
}

// Add starts one more process beside those that run, and reports whether it did:
// a group that has failed, or is about to end, takes nobody. Its writers are
// closed in either case when they are not needed any more.
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

// Worker names a member's worker, for OnEnd and OnFailure.
func (g *Group) Worker(i int) string { return g.members[i].Worker }

// Label names a member, for OnEnd and OnFailure.
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

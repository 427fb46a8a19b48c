package rendezvous

import (
	"slices"
)

// Members is the set of workers that an elastic job has while it runs. It is a
// pure state machine for one goroutine, as Board is: what is ready and what is
// lost goes in, changes come out. It reads no clock.
//
// A worker joins when it is ready and there is room, and stays a member whatever
// its link does until it is lost. One that is about to go (deleted, drained,
// preempted) is leaving: no member any more, but not gone.
type Members struct {
	Least, Most int

	present []Worker // in rank order
	leaving []Worker
}

// Change is what a look at the workers found, each list in rank order.
type Change struct {
	Joined  []Worker
	Back    []Worker // were leaving, and stay after all
	Leaving []Loss   // no members from now on; their processes have a grace period
	Gone    []Loss   // members, or leaving ones, whose processes cannot be there any more
}

// None reports whether nothing has changed.
func (c Change) None() bool { return len(c.Joined)+len(c.Back)+len(c.Leaving)+len(c.Gone) == 0 }

// Present returns the members, ranked. The slice must not be changed.
func (m *Members) Present() []Worker { return m.present }

// All returns the members and those that are leaving, ranked: for Lost.
func (m *Members) All() []Worker {
	all := slices.Concat(m.present, m.leaving)
	slices.SortFunc(all, byIndex)
	return all
}

// Short is how many workers are missing to the least number, 0: none.
func (m *Members) Short() int { return max(0, m.Least-len(m.present)) }

// Look takes what is known now: the workers that are ready, and losses among
// All. One that is neither Gone nor Leaving only looks bad: its link decides.
func (m *Members) Look(ready []Worker, losses []Loss) Change {
	var c Change
	going := map[string]bool{}
	for _, loss := range losses {
		m.lose(loss, &c)
		going[identity(loss.Worker)] = true
	}
	ready = slices.Clone(ready)
	slices.SortFunc(ready, byIndex)
	for _, w := range ready {
		if going[identity(w)] || contains(m.present, w) {
			continue
		}
		m.replace(w, &c)
		if len(m.present) >= m.Most {
			continue // a spare
		}
		m.present = append(m.present, w)
		if contains(m.leaving, w) {
			m.leaving = without(m.leaving, w)
			c.Back = append(c.Back, w)
		} else {
			c.Joined = append(c.Joined, w)
		}
	}
	slices.SortFunc(m.present, byIndex)
	return c
}

// lose takes down one loss.
func (m *Members) lose(loss Loss, c *Change) {
	w := loss.Worker
	member := contains(m.present, w)
	switch {
	case !member && !contains(m.leaving, w):
		return
	case loss.Gone:
		m.present, m.leaving = without(m.present, w), without(m.leaving, w)
		c.Gone = append(c.Gone, loss)
	case member && loss.Leaving:
		m.present = without(m.present, w)
		m.leaving = append(m.leaving, w)
		c.Leaving = append(c.Leaving, loss)
	}
}

// replace drops whoever was known by the new worker's name or number: of two,
// one is in the place of the other.
func (m *Members) replace(w Worker, c *Change) {
	for _, old := range m.All() {
		if identity(old) == identity(w) || old.Name != w.Name && !(old.Labelled && w.Labelled && old.Index == w.Index) {
			continue
		}
		m.lose(Loss{Worker: old, Gone: true, Reason: Reason{
			Code: Missing, Pod: old.Name, Permanent: true, Brief: "Missing: replaced by " + w.Name,
			Sentence: old.Name + ": was replaced by " + w.Name,
		}}, c)
	}
}

// identity tells a worker from one that was made anew under its name, and from
// itself after its container was restarted.
func identity(w Worker) string { return w.Name + "/" + w.UID + "/" + w.ContainerID }

func contains(list []Worker, w Worker) bool {
	return slices.ContainsFunc(list, func(o Worker) bool { return identity(o) == identity(w) })
}

func without(list []Worker, w Worker) []Worker {
	return slices.DeleteFunc(slices.Clone(list), func(o Worker) bool { return identity(o) == identity(w) })
}

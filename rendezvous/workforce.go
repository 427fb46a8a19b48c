package rendezvous

import (
	"slices"
)

// Workforce is the set of workers of a running elastic job. Like Board, it is a pure state machine
// for one goroutine: ready workers and losses go in, changes come out. It reads no clock.
//
// A worker joins when it is ready and there is room. It is present until it is lost, whatever its
// link does. A worker that is being deleted, drained or preempted is leaving: it is not present
// anymore, but not gone yet.
type Workforce struct {
	Least, Most int

	present []Worker // in rank order
	leaving []Worker
}

// Change is the result of one Look. Each list is in rank order.
type Change struct {
	Joined  []Worker
	Back    []Worker // were leaving, but stay
	Leaving []Loss   // not present from now on; their processes have a grace period
	Gone    []Loss   // present or leaving workers whose processes no longer exist
}

// None reports whether nothing has changed.
func (c Change) None() bool { return len(c.Joined)+len(c.Back)+len(c.Leaving)+len(c.Gone) == 0 }

// Present returns the present workers in rank order. The slice must not be changed.
func (m *Workforce) Present() []Worker { return m.present }

// All returns the present and the leaving workers in rank order, as input for Lost.
func (m *Workforce) All() []Worker {
	all := slices.Concat(m.present, m.leaving)
	slices.SortFunc(all, byIndex)
	return all
}

// Short returns how many workers are missing to reach Least; 0 if none.
func (m *Workforce) Short() int { return max(0, m.Least-len(m.present)) }

// Look takes the workers that are ready, and the losses among All. A loss that is neither Gone nor
// Leaving only looks bad: its link decides.
func (m *Workforce) Look(ready []Worker, losses []Loss) Change {
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
			continue // there is no room
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

// lose applies one loss.
func (m *Workforce) lose(loss Loss, c *Change) {
	w := loss.Worker
	present := contains(m.present, w)
	switch {
	case !present && !contains(m.leaving, w):
		return
	case loss.Gone:
		m.present, m.leaving = without(m.present, w), without(m.leaving, w)
		c.Gone = append(c.Gone, loss)
	case present && loss.Leaving:
		m.present = without(m.present, w)
		m.leaving = append(m.leaving, w)
		c.Leaving = append(c.Leaving, loss)
	}
}

// replace drops old workers with the new worker's name or number, because the new one has replaced
// them.
func (m *Workforce) replace(w Worker, c *Change) {
	for _, old := range m.All() {
		if identity(old) == identity(w) || old.Name != w.Name && !(old.Labelled && w.Labelled && old.Given == w.Given && old.Index == w.Index) {
			continue
		}
		m.lose(Loss{Worker: old, Gone: true, Reason: Reason{
			Code: Missing, Pod: old.Name, Permanent: true, Brief: "Missing: replaced by " + w.Name,
			Sentence: old.Name + ": was replaced by " + w.Name,
		}}, c)
	}
}

// identity distinguishes a worker from a new pod of the same name, and from its own container after
// a restart.
func identity(w Worker) string { return w.Name + "/" + w.UID + "/" + w.ContainerID }

func contains(list []Worker, w Worker) bool {
	return slices.ContainsFunc(list, func(o Worker) bool { return identity(o) == identity(w) })
}

func without(list []Worker, w Worker) []Worker {
	return slices.DeleteFunc(slices.Clone(list), func(o Worker) bool { return identity(o) == identity(w) })
}

//go:build linux

package session

// finishedLocked reports whether every rank that a session is known to have had has ended
// with 0. A daemon that dies then has done its work: Open MPI 5's may crash on its way out.
// It tells of the ranks that have ended, but have not been told of. Called with o.mu held.
func (o *observer) finishedLocked(x *session) bool {
	for key, w := range o.watched {
		if w.session != x || w.kind == ofDaemon {
			continue
		}
		st, known, _ := endOf(key, w)
		if !known {
			return false
		}
		o.endLocked(key, st)
	}
	return x.sight.hasRanks && !x.sight.unfinished
}

// loseSightLocked forgets a process of whose end nothing is known. Called with o.mu held.
func (o *observer) loseSightLocked(key being) {
	if w := o.watched[key]; w != nil && w.kind != ofDaemon {
		w.session.sight.unfinished = true
		w.session.sight.ranks.lose(w.kind)
		o.rankEndedLocked(w.session, w.rank)
	}
	o.unwatchLocked(key)
}

//go:build linux

package session

// finishedLocked reports whether every known rank of a session has ended with 0. A daemon that dies
// after that has done its work: Open MPI 5's daemon may crash on its way out. finishedLocked also
// reports the ends of ranks that have not been reported yet. The caller holds o.mu.
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

// loseSightLocked forgets a process whose end is unknown. The caller holds o.mu.
func (o *observer) loseSightLocked(key being) {
	if w := o.watched[key]; w != nil && w.kind != ofDaemon {
		w.session.sight.unfinished = true
		w.session.sight.ranks.lose(w.kind)
		o.rankEndedLocked(w.session, w.rank)
	}
	o.unwatchLocked(key)
}

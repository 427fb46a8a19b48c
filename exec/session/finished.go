//go:build linux

package session

// finishedLocked reports whether every rank that a session is known to have had has ended
// with 0. A daemon that dies then has done its work: Open MPI 5's may crash on its way out.
// It tells of the ranks that have ended, but have not been told of. Called with s.mu held.
func (s *Server) finishedLocked(x *session) bool {
	for key, w := range s.watched {
		if w.session != x || w.kind == ofDaemon {
			continue
		}
		st, known, _ := endOf(key, w)
		if !known {
			return false
		}
		s.endLocked(key, st)
	}
	return x.hasRanks && !x.unfinished
}

// loseSightLocked forgets a process of whose end nothing is known. Called with s.mu held.
func (s *Server) loseSightLocked(key being) {
	if w := s.watched[key]; w != nil && w.kind != ofDaemon {
		w.session.unfinished = true
		w.session.ranksSeen.lose(w.kind)
		s.rankEndedLocked(w.session, w.rank)
	}
	s.unwatchLocked(key)
}

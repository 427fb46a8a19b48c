//go:build linux

package supervise

import "github.com/musterhq/muster/agent/launch/phrase"

// onFallback reports that NCCL fell back to sockets, and ends the run with --require-rdma. It returns
// true if that changed how the command is to end.
func (s *Supervisor) onFallback() (changed bool) {
	f, found := s.Network.Fallback()
	if !found || s.ending.phase.stops() {
		return false
	}
	s.FellBack = true
	s.voice.Warn("%s", f.Sentence())
	s.voice.Hint(f.Hint())
	if !s.Network.Required {
		return false
	}
	s.voice.Warn("stopping %s (--require-rdma), killing it after %s", s.Name, phrase.Seconds(s.cfg.Grace))
	s.Refused = s.Name + " was stopped: " + f.Sentence()
	return s.ending.onHang(s.cfg.Grace)
}

// lateFallback reports a fallback that NCCL printed just before the command ended.
func (s *Supervisor) lateFallback() {
	select {
	case <-s.Network.Told():
		s.onFallback()
	default:
	}
}

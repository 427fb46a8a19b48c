package link

import (
	"context"

	"github.com/musterhq/muster/exec/wire"
)

// Wait returns the exit record once every byte of output has been written to the streams. It
// returns a *LostError if the worker, and the session with it, is lost. It returns the cause of ctx
// if ctx ends, and the session continues.
func (s *Session) Wait(ctx context.Context) (wire.ExitRecord, error) {
	select {
	case <-s.done:
	case <-ctx.Done():
		return wire.ExitRecord{}, context.Cause(ctx)
	}
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.err != nil {
		return wire.ExitRecord{}, s.err
	}
	return *s.exit, nil
}

// Then has f called, in a goroutine of the link, when Wait would return at once. It returns false, and
// f is not called, if that is the case already. It is for callers that wait for thousands of sessions,
// and can be called once.
func (s *Session) Then(f func()) bool {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.over {
		return false
	}
	s.then = f
	return true
}

// Confirmed has f called, in a goroutine of the link, when the worker has said that it has the session, or
// when the session is over. It returns false, and f is not called, if that is the case already. f must not
// block. Confirmed is for callers that open thousands of sessions, and can be called once.
func (s *Session) Confirmed(f func()) bool {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.confirmed || s.over {
		return false
	}
	s.taken = f
	return true
}

// tellTaken calls the function of Confirmed, once.
func (s *Session) tellTaken() {
	s.link.mu.Lock()
	f := s.taken
	s.taken = nil
	s.link.mu.Unlock()
	if f != nil {
		f()
	}
}

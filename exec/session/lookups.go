//go:build linux

package session

import (
	"sync"
	"time"
)

// lookupTime is how long the Server's end waits for look-ups.
const lookupTime = 5 * time.Second

// lookups counts the goroutines that use the user's file systems: starts of processes, and answers
// about files. A call to a file system that does not answer cannot be interrupted. PID 1 must exit
// nevertheless, because its pod would otherwise stay.
type lookups struct {
	limit time.Duration // how long the Server's end waits for them

	mu      sync.Mutex // taken last
	running int        // each is counted in Server.wg until it is left behind
	left    bool       // nobody waits for look-ups any longer
}

// lookUp runs f in a goroutine that the Server's end leaves behind if f hangs.
func (s *Server) lookUp(f func()) {
	s.lookups.mu.Lock()
	defer s.lookups.mu.Unlock()
	if s.lookups.left {
		return
	}
	s.lookups.running++
	s.wg.Add(1)
	go func() {
		defer s.lookedUp()
		f()
	}()
}

func (s *Server) lookedUp() {
	s.lookups.mu.Lock()
	defer s.lookups.mu.Unlock()
	if !s.lookups.left {
		s.lookups.running--
		s.wg.Done()
	}
}

// stays has the Server's end wait until done is called. It returns false if the Server has already
// left its look-ups behind. A look-up calls it before it starts other goroutines.
func (s *Server) stays() (done func(), ok bool) {
	s.lookups.mu.Lock()
	defer s.lookups.mu.Unlock()
	if s.lookups.left {
		return nil, false
	}
	s.wg.Add(1)
	return s.wg.Done, true
}

// leaveLookups stops waiting for look-ups, and returns how many are left behind.
func (s *Server) leaveLookups() int {
	s.lookups.mu.Lock()
	defer s.lookups.mu.Unlock()
	s.lookups.left = true
	for range s.lookups.running {
		s.wg.Done()
	}
	return s.lookups.running
}

// wait waits for the Server's goroutines. It leaves look-ups behind that take too long.
func (s *Server) wait() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	timer := time.NewTimer(s.lookups.limit)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	if n := s.leaveLookups(); n > 0 {
		s.cfg.Log.Warn("a file system does not answer: the worker ends without waiting for it", "lookups", n)
	}
	<-done
}

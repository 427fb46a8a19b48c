//go:build linux

package session

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// refusal is the answer to a refused HELLO, as an error.
type refusal struct{ record wire.RefuseRecord }

func (r *refusal) Error() string { return r.record.Message }

func (s *Server) refuse(reason, format string, args ...any) *refusal {
	return &refusal{wire.RefuseRecord{
		Reason: reason, Message: fmt.Sprintf(format, args...),
		ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, Version: s.cfg.Version,
	}}
}

// probed answers a HELLO that only asks whether the worker serves.
func (s *Server) probed() wire.RefuseRecord {
	s.mu.Lock()
	ending := s.ending
	s.mu.Unlock()
	if ending {
		return s.refuse(wire.RefuseEnding, "the worker is stopping").record
	}
	return s.refuse(wire.RefuseProbe, "the worker serves").record
}

// admit decides on a HELLO: it makes c the current connection, or returns a *refusal. A higher
// epoch first ends the sessions of the lower one, so that the new launcher starts on a clean
// worker.
func (s *Server) admit(ctx context.Context, c *conn, h wire.HelloRecord) (wire.WelcomeRecord, error) {
	proto, ok := wire.Negotiate(wire.ProtoMin, wire.ProtoMax, h.ProtoMin, h.ProtoMax)
	if !ok {
		return wire.WelcomeRecord{}, s.refuse(wire.RefuseVersion,
			"the worker's agent %s speaks protocol %d to %d, the launcher's %s speaks %d to %d",
			s.cfg.Version, wire.ProtoMin, wire.ProtoMax, h.Version, h.ProtoMin, h.ProtoMax)
	}
	if s.cfg.Job != "" && h.Job != "" && h.Job != s.cfg.Job {
		return wire.WelcomeRecord{}, s.refuse(wire.RefuseJob, "the worker belongs to job %s, the launcher to job %s", s.cfg.Job, h.Job)
	}
	fences, err := s.claim(c, h)
	if err != nil {
		return wire.WelcomeRecord{}, err
	}
	for _, fence := range fences {
		select {
		case <-fence:
		case <-ctx.Done():
			return wire.WelcomeRecord{}, ctx.Err()
		}
	}
	return s.welcome(c, proto, h)
}

// claim makes c the current connection for h's epoch. It returns channels that are closed when the
// current stops are over: those of earlier epochs, and any other stop that would also end a new
// session. A worker that is going down still accepts its own launcher, which waits for the
// sessions' ends.
func (s *Server) claim(c *conn, h wire.HelloRecord) ([]chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := h.Epoch.Compare(s.epoch)
	if s.ending && (!s.claimed || order != 0) {
		return nil, s.refuse(wire.RefuseEnding, "the worker is stopping")
	}
	if s.claimed && order < 0 {
		return nil, s.refuse(wire.RefuseSuperseded, "the worker belongs to a newer launcher, %s; this is %s", s.epoch, h.Epoch)
	}
	if s.claimed && order > 0 {
		s.cfg.Log.Info("a newer launcher takes the worker", "old", s.epoch.UID, "new", h.Epoch.UID)
		// The older launcher may have been told to end, and have given its ranks more time.
		s.stops.allLocked(wire.ReasonSuperseded, syscall.SIGTERM, max(s.graceLocked(), time.Until(s.cfg.Reaper.Granted())))
		for id, x := range s.sessions {
			x.discardLocked()
			delete(s.sessions, id)
			close(x.dropped)
		}
		clear(s.ruined)
		s.stops.saving = nil
		s.observer.reset()
	}
	if s.conn != nil {
		s.conn.close() // the bridge of an earlier connection may linger
	}
	s.claimed, s.epoch, s.conn = true, h.Epoch, c
	s.lease = leaseOf(h.LeaseSeconds)
	s.observer.claimed(h)
	before := s.podGrace
	s.grace, s.podGrace = graceOf(h.GraceMillis), graceOf(h.PodGraceMillis)
	if s.podGrace != before && s.cfg.OnPodGrace != nil {
		s.cfg.OnPodGrace(s.podGrace)
	}
	s.heard, s.swept = time.Now(), false
	s.kick()
	if s.ending {
		return nil, nil // it waits for the ends of the sessions, which the stop brings
	}
	return slices.Collect(maps.Values(s.stops.fences)), nil
}

func (s *Server) welcome(c *conn, proto int, h wire.HelloRecord) (wire.WelcomeRecord, error) {
	w := wire.WelcomeRecord{Proto: proto, Version: s.cfg.Version, Instance: s.instance, Slots: s.cfg.Slots, Reports: true, Answers: true, Unpacks: true, AsksRanks: true, Stacks: true, Checks: true, Replaces: true, Newest: true}
	w.Hostname, _ = os.Hostname() // only for messages
	w.Addresses, w.Interfaces = addresses(), interfaces()
	w.NoRDMA, w.NoGPU = proc.NoRDMA("/sys/class"), proc.NoGPU("/dev")
	w.Env = told(s.cfg.Env, h.Ask)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		w.CPUs, w.CPUSet = set.Count(), listCPUs(&set)
	}
	if h.RshAgent != "" {
		if err := unix.Access(h.RshAgent, unix.X_OK); err != nil {
			w.RshAgentError = sentence(fmt.Sprintf("%s: %v", h.RshAgent, err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return w, errStale
	}
	// As many as fit into a record. The launcher forgets sessions that it does not know, and learns
	// of the others at its next redial.
	room := wire.MaxRecord / 2
	for id, x := range s.sessions {
		if x.forgotten {
			continue
		}
		if room -= 6*len(id) + len(`"",`); room < 0 { // JSON may escape a byte as six
			break
		}
		w.Sessions = append(w.Sessions, id)
	}
	return w, nil
}

// welcomed starts reports to a connection, after its WELCOME.
func (s *Server) welcomed(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c {
		s.observer.welcomed(c)
	}
}

// checkPeer returns the peer's pid. It returns an error unless the peer is our own user or root,
// according to the kernel.
func checkPeer(nc *net.UnixConn) (pid int, err error) {
	uid, pid, err := rundir.PeerCred(nc)
	if err != nil {
		return 0, err
	}
	if uid != 0 && uid != os.Getuid() {
		return 0, fmt.Errorf("the caller has uid %d", uid)
	}
	return pid, nil
}

// checkDescent returns a *refusal if the peer descends from this worker, because a rank could
// otherwise take the worker from its launcher. The bridge that pods/exec starts has no parent in
// the container, and the launcher of a fake worker is its parent. Pid 0 is a process of another PID
// namespace, so it is not a descendant.
func (s *Server) checkDescent(pid int) error {
	if pid == 0 {
		return nil
	}
	below, err := reap.Descends(pid, os.Getpid())
	if err != nil {
		return err
	}
	if below {
		return s.refuse(wire.RefusePeer, "process %d runs on this worker: a launcher must not run in a session of its own worker", pid)
	}
	return nil
}

// checkProof returns a *refusal unless HELLO comes from the launcher of the connection's proof.
func (s *Server) checkProof(h wire.HelloRecord, job string, epoch wire.Epoch) error {
	if h.Epoch != epoch || h.Job != job {
		return s.refuse(wire.RefusePeer, "the launcher has proved to be another one than it says: %s of job %q", epoch, job)
	}
	return nil
}

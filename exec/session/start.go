//go:build linux

package session

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

// pipes are our ends of the streams. stdin is nil if the session reads no input.
type pipes struct{ stdin, stdout, stderr *os.File }

func (p pipes) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// start starts what spec asks for. The session exists afterwards in any case. If it could not be
// started, its exit record says so.
func (s *Server) start(x *session, spec wire.Spec) {
	defer close(x.started)
	rs, err := s.resolve(x.id, spec)
	if err != nil {
		x.fail(err)
		return
	}
	ours, theirs, err := openPipes(spec.Stdin)
	if err != nil {
		x.fail(err)
		return
	}
	rs.Files = theirs
	p, err := proc.Start(s.cfg.Reaper, x.tree, rs)
	for _, f := range theirs {
		if f != nil {
			f.Close()
		}
	}
	if err != nil {
		ours.close()
		x.fail(err)
		return
	}
	done, ok := s.stays()
	if !ok { // the start took so long that the server has ended
		_ = p.SignalGroup(syscall.SIGKILL) // it may have ended already
		ours.close()
		return
	}
	defer done()
	for _, out := range []*flow.Out{x.stdout, x.stderr} {
		out.Gather(time.Duration(spec.GatherMillis) * time.Millisecond)
	}
	x.run(p, ours, spec)
	s.observer.watchNow()
}

// resolve turns a spec into what execve needs.
func (s *Server) resolve(id string, spec wire.Spec) (reap.Spec, error) {
	rs := reap.Spec{Dir: spec.Dir, Setsid: true, OOMScoreAdj: s.cfg.OOMScore}
	if rs.Dir == "" {
		rs.Dir = s.cfg.Dir
	}
	env := append(append([]string(nil), s.cfg.Env...), spec.Env...)
	rs.Argv = spec.Argv
	if spec.Line != "" {
		c, err := commandOf(spec.Line, env, rs.Dir)
		if err != nil {
			return rs, err
		}
		rs.Argv, env = c.Argv, append(env, c.Env...)
		if c.Dir != "" {
			rs.Dir = c.Dir
		}
	}
	if len(rs.Argv) == 0 {
		return rs, errors.New("no command")
	}
	rs.Env = s.observer.tellStacks(proc.Marked(env, id))
	var err error
	rs.Path, err = proc.LookPath(rs.Argv[0], rs.Env, rs.Dir)
	return rs, err
}

// openPipes makes the streams of a process. Our ends are in the poller. The process's ends are
// blocking, as programs expect.
func openPipes(stdin bool) (ours pipes, theirs []*os.File, err error) {
	theirs = make([]*os.File, 3)
	defer func() {
		if err != nil {
			for _, f := range append(theirs, ours.stdin, ours.stdout, ours.stderr) {
				if f != nil {
					f.Close()
				}
			}
		}
	}()
	if stdin {
		if theirs[0], ours.stdin, err = pipe(false); err != nil {
			return ours, theirs, err
		}
	}
	if ours.stdout, theirs[1], err = pipe(true); err != nil {
		return ours, theirs, err
	}
	ours.stderr, theirs[2], err = pipe(true)
	return ours, theirs, err
}

// pipe returns both ends of a pipe. Our end is the reading one if read is set.
func pipe(read bool) (r, w *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	our := fd[1]
	if read {
		our = fd[0]
		// A larger pipe saves the rank context switches. EPERM is fine, because the kernel limits
		// the user's total: the default size works too.
		_, _ = unix.FcntlInt(uintptr(our), unix.F_SETPIPE_SZ, 1<<20)
	}
	if err := unix.SetNonblock(our, true); err != nil {
		unix.Close(fd[0])
		unix.Close(fd[1])
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	ends := [2]*os.File{os.NewFile(uintptr(fd[0]), "pipe"), os.NewFile(uintptr(fd[1]), "pipe")}
	at, other := 1, 0
	if read {
		at, other = 0, 1
	}
	if _, err := shortage.Polled(ends[at]); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make pipe: %w", err), ends[other].Close())
	}
	return ends[0], ends[1], nil
}

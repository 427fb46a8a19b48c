//go:build linux

package session

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// feed writes stdin to the process. It is not an error if the process does not read it. A blocked
// write ends when the process does.
func (x *session) feed(p *reap.Process, w *os.File) {
	done := make(chan struct{})
	x.srv.wg.Go(func() {
		select {
		case <-p.Done():
			// Children may continue to read, but the stdin that they inherited ends with the first
			// process, as under ssh. The deadline unblocks a write.
			_ = w.SetWriteDeadline(time.Now())
		case <-done:
		}
	})
	if err := x.stdin.Run(w); err != nil {
		x.srv.cfg.Log.Debug("stdin is not read any more", "session", x.id, "err", err)
	}
	close(done)
	w.Close()
}

// together is how long the end of an output waits for the exit record, so that both go out in one
// write. They usually come at once. On a busy machine a look at the processes that remain takes a while.
const together = 100 * time.Millisecond

// endAt ends an output when told is closed, or after together, because the process or its other
// output may live on. If told is closed, finish has already ended the output.
func endAt(told <-chan struct{}, out *flow.Out) {
	timer := time.NewTimer(together)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	}
	out.End()
}

// behind is how long an output waits after the other one's held-back output has been sent, if the
// launcher does not write them in order. Releases before Spec.InOrder write each output in its own
// goroutine.
const behind = 10 * time.Millisecond

// heldTime is how long a session outlasts its first process while other processes hold its output
// and write nothing.
const heldTime = 10 * time.Second

// heldTold is how long after the first process's end the launcher is told which process holds the
// output. Later looks for another holder become less frequent, up to longestTold apart.
const (
	heldTold    = 3 * time.Second
	longestTold = 10 * time.Second
)

// awaitOutput waits for the ends of both outputs after the first process's end. A background
// process may hold them forever. Once nothing has been written for heldTime, awaitOutput stops
// waiting.
func (x *session) awaitOutput(ends <-chan struct{}) {
	x.wrote.Store(int64(time.Since(x.born)))
	timer := time.NewTimer(heldTime)
	defer timer.Stop()
	between, told := heldTold, being{}
	tell := time.NewTimer(between)
	defer tell.Stop()
	for open := 2; open > 0; {
		select {
		case <-ends:
			open--
		case <-tell.C:
			told = x.tellHolder(told)
			between = min(2*between, longestTold)
			tell.Reset(between)
		case <-timer.C:
			quiet := time.Since(x.born) - time.Duration(x.wrote.Load())
			if x.full.Load() > 0 {
				quiet = 0 // the launcher does not read
			}
			if quiet < heldTime {
				timer.Reset(heldTime - quiet)
				continue
			}
			x.srv.cfg.Log.Info("not waiting for a background process that still holds the output of an ended command", "session", x.id)
			x.leave()
		}
	}
}

// leave ends the outputs after what is in their pipes now. Later output is read and dropped,
// because its writer would otherwise die of SIGPIPE.
func (x *session) leave() {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	x.output = max(x.output, left)
	for _, f := range []*os.File{x.pipes.stdout, x.pipes.stderr} {
		_ = f.SetReadDeadline(time.Now()) // it fails only if the stream has ended
	}
}

// discardLocked drops the outputs, which no launcher reads any longer. Later output is read and
// dropped as after leave: a rank that is stopped may print while it saves its work. The caller holds
// srv.mu.
func (x *session) discardLocked() {
	x.output = max(x.output, left)
	x.stdout.Discard()
	x.stderr.Discard()
}

// drop reads and discards output after leave or discardLocked, until the last writer or the session has
// ended.
func (x *session) drop(r *os.File) {
	x.srv.mu.Lock()
	goes := x.output == left && r.SetReadDeadline(time.Time{}) == nil
	x.srv.mu.Unlock()
	if goes {
		_, _ = io.Copy(io.Discard, r) // any error also ends the output
	}
}

// pump moves one output stream from its pipe into its spool until its end. Held-back output of the
// other stream is sent first.
func (x *session) pump(r *os.File, out, other *flow.Out, inOrder bool) {
	buf := make([]byte, 16<<10)
	read := r.Read
	for {
		x.full.Add(1)
		room, err := out.WaitRoom(wire.MaxData)
		x.full.Add(-1)
		if err != nil {
			return
		}
		n, err := read(buf[:min(len(buf), room)])
		if n > 0 {
			x.wrote.Store(int64(time.Since(x.born)))
			if other.Hurry() && !inOrder {
				time.Sleep(behind)
			}
			if _, werr := out.Write(buf[:n]); werr != nil {
				return
			}
			if n == len(buf) && len(buf) < wire.MaxData {
				buf = make([]byte, 4*len(buf)) // a busy stream needs few system calls
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			// All processes of the session have ended, and another process still holds the pipe.
			// The output ends with what is in the pipe.
			read = func(p []byte) (int, error) { return readNow(r, p) }
		default:
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EAGAIN) {
				x.srv.cfg.Log.Warn("cannot read the output of a command", "session", x.id, "err", err)
			}
			return
		}
	}
}

// readNow reads what a pipe holds without blocking. It returns EAGAIN if the pipe is empty.
func readNow(r *os.File, p []byte) (n int, err error) {
	raw, err := r.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		for {
			if n, err = syscall.Read(int(fd), p); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	})
	if cerr != nil {
		return 0, cerr
	}
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

// endOutput ends the output streams after what is in their pipes now, even if other processes hold
// the pipes. It is called when no process of the session is left.
func (x *session) endOutput() {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	p := x.pipes
	x.output = cut
	for _, f := range []*os.File{p.stdout, p.stderr} {
		if f != nil {
			_ = f.SetReadDeadline(time.Now()) // it fails only if the stream has ended
		}
	}
}

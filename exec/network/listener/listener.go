package listener

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/relay"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

const (
	// MostUnproved is how many connections may be open that have not proved anything.
	MostUnproved = 64
	// ProofTime is how long a connection may take to prove that it is a launcher.
	ProofTime = 10 * time.Second
	// logEvery limits the lines about strangers.
	logEvery = time.Minute
)

// Listener is the worker's side: it passes on connections whose far end is a launcher of the job.
type Listener struct {
	ln    net.Listener
	guard *secure.Guard
	log   *slog.Logger
	wg    sync.WaitGroup
	lanes lanes

	mu        sync.Mutex
	strangers []*stranger // oldest first
	refused   int         // since the last line about it
	said      time.Time
}

// stranger is a connection that has proved nothing yet.
type stranger struct {
	net.Conn
	gone chan struct{} // closed when it is no stranger any more
}

// New returns a Listener. Serve accepts connections from ln, and closes it.
func New(ln net.Listener, guard *secure.Guard, log *slog.Logger) *Listener {
	return &Listener{ln: ln, guard: guard, log: log}
}

// Serve calls take, in a goroutine of its own, for each link of a launcher, with the job and the epoch
// that the launcher has proved. take owns the connection. Serve carries the lanes of trunks itself. When ctx ends, Serve closes ln
// and all connections, and returns nil when each take has returned. If accepting fails for good,
// Serve returns the error, when ctx ends.
func (l *Listener) Serve(ctx context.Context, take func(nc net.Conn, job string, epoch wire.Epoch)) error {
	stop := context.AfterFunc(ctx, func() { l.ln.Close() })
	defer stop()
	err := shortage.Accept(ctx, l.ln, func(nc net.Conn) { l.admit(ctx, nc, take) }, l.troubled)
	if err != nil {
		l.log.Error("launchers can no longer connect by network", "err", err)
		<-ctx.Done()
	}
	l.wg.Wait()
	return err
}

func (l *Listener) troubled(err error) {
	if err != nil {
		l.log.Warn("cannot accept connections by network: retrying", "err", err, "hint", shortage.Hint(err))
		return
	}
	l.log.Info("accepting connections by network again")
}

// admit starts the goroutine of a connection. It first waits for that of the oldest stranger to end
// if there are too many, so that their number is bounded.
func (l *Listener) admit(ctx context.Context, nc net.Conn, take func(net.Conn, string, wire.Epoch)) {
	s := &stranger{Conn: nc, gone: make(chan struct{})}
	if oldest := l.hold(s); oldest != nil {
		<-oldest.gone
	}
	l.wg.Go(func() {
		stop := context.AfterFunc(ctx, func() { nc.Close() })
		defer stop()
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(ProofTime)) // closed: Admit returns that error
		c, claim, err := l.guard.Admit(nc)
		l.release(s)
		if err == nil {
			err = nc.SetDeadline(time.Time{})
		}
		if err != nil {
			l.refuse(nc.RemoteAddr(), err)
			return
		}
		if claim.Trunk {
			_ = relay.Serve(ctx, c, l.lanes.dial) // the launcher opens another one
			return
		}
		take(c, claim.Job, claim.Epoch)
	})
}

// Carried returns a channel that is closed when no connection to another worker passes through this
// one.
func (l *Listener) Carried() <-chan struct{} { return l.lanes.ended() }

// hold adds a stranger. If there are too many, it closes the oldest and returns it.
func (l *Listener) hold(s *stranger) (oldest *stranger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strangers) >= MostUnproved {
		oldest = l.strangers[0]
		oldest.Close() // under the lock, so that it is still a stranger
	}
	l.strangers = append(l.strangers, s)
	return oldest
}

func (l *Listener) release(s *stranger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strangers = slices.DeleteFunc(l.strangers, func(o *stranger) bool { return o == s })
	close(s.gone)
}

// refuse counts a stranger, and logs the count from time to time. The line says what the newest one
// did, and nothing that a stranger can choose but the address.
func (l *Listener) refuse(from net.Addr, err error) {
	l.mu.Lock()
	l.refused++
	n := l.refused
	due := l.said.IsZero() || time.Since(l.said) >= logEvery
	if due {
		l.refused, l.said = 0, time.Now()
	}
	l.mu.Unlock()
	if due {
		l.log.Warn("refused connections that did not prove to be a launcher of this job", "count", n, "from", from.String(), "why", reason(err))
	}
}

// reason returns why a stranger was refused, in fixed words, unless the job's launcher has signed
// the words.
func reason(err error) string {
	switch {
	case errors.Is(err, secure.ErrClaim), errors.Is(err, secure.ErrStranger):
		return err.Error()
	}
	return "it ended or was silent"
}

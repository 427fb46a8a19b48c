package join

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

const (
	// firstWords is when a wait is first reported, and everyWords how often after that.
	firstWords = 5 * time.Second
	everyWords = 30 * time.Second
)

// progress reports which members are missing, and why.
func (m *member) progress() {
	if m.crew != nil || m.verdict != nil || time.Since(m.began) < firstWords || time.Since(m.lastWords) < everyWords {
		return
	}
	m.lastWords = time.Now()
	soFar := seconds(time.Since(m.began))
	switch {
	case m.away != nil:
		why, _ := unreachable(m.cfg.Coordinator, m.away)
		m.say("waiting for %s so far: %s", soFar, why)
	case len(m.order.Absent) > 0:
		missing := len(m.order.Absent) + m.order.More
		m.say("%d/%d members, %s: %s", m.cfg.Workers-missing, m.cfg.Workers, soFar, absence(m.order))
	}
}

// lateTime is how much longer a member waits than rank 0, because rank 0 decides for all. Rank 0 begins
// to count after its pause.
const lateTime = retry.LastPause + time.Second

// late ends a member whose barrier was not complete in time.
func (m *member) late() {
	if m.away == nil && time.Since(m.began) < m.cfg.Timeout+lateTime {
		m.deadline.Reset(time.Second)
		return
	}
	o := barrier.Order{Code: names.ExitDeadline, Absent: m.order.Absent, More: m.order.More,
		Why: fmt.Sprintf("not all %d members joined within %s", m.cfg.Workers, m.cfg.Timeout)}
	if m.away != nil {
		why, hint := unreachable(m.cfg.Coordinator, m.away)
		o.Why, o.Hint = o.Why+"; "+why, hint
	}
	m.conclude(o)
	m.news.Leaving, m.news.Ready = "it gave up waiting after "+m.cfg.Timeout.String(), false
	m.report()
}

// cutOff stops the processes of a member that has not heard from rank 0 for the lease, because the
// others count it as lost. With restarts left it waits for the next attempt.
func (m *member) cutOff(ctx context.Context) {
	if m.crew == nil || m.away == nil {
		return
	}
	why, hint := unreachable(m.cfg.Coordinator, m.away)
	why = fmt.Sprintf("lost rank 0 for %s: %s; stopping the processes of this member", m.cfg.Lease, why)
	if m.cfg.MaxRestarts == 0 {
		m.conclude(barrier.Order{Code: names.ExitHopeless, Why: why, Hint: hint})
	} else {
		m.say("%s", why)
	}
	m.clear(ctx, wire.ReasonLease, syscall.SIGTERM, min(m.cfg.Grace, failGrace))
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

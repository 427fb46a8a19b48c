package preflight

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/musterhq/muster/agent/check"
)

// ErrTimeout is the cause of the end of a command that took longer than Question.Limit.
var ErrTimeout = errors.New("it did not end in time, and was killed")

// commands runs the user's own checks: first each new worker by itself, then all together. If a
// worker has failed by itself, the check of all would only fail again.
func (l *look) commands(ctx context.Context) {
	if l.q.Command != "" {
		l.each(func(i int, s Subject) {
			if !l.fresh[i] {
				return
			}
			f := l.command(ctx, s)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.found = append(l.found, f)
		})
	}
	if l.q.Group != nil && len(check.Bad(l.found)) == 0 && ctx.Err() == nil {
		l.found = append(l.found, l.q.Group(ctx))
	}
}

// command runs the user's check of one worker.
func (l *look) command(ctx context.Context, s Subject) check.Finding {
	ctx, stop := context.WithTimeoutCause(ctx, l.q.Limit, ErrTimeout)
	defer stop()
	out := &Tail{}
	exit, err := s.Run(ctx, l.q.Command, out)
	return check.OfCommand(s.Worker.Name, s.Worker.Node, exit, out.Last(), err, errors.Is(err, ErrTimeout))
}

// mostTail is how many bytes of a command's output are kept.
const mostTail = 4 << 10

// Tail keeps the end of what is written to it. Its methods may be called at the same time.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer, and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - mostTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// Close implements io.Closer, and does nothing.
func (t *Tail) Close() error { return nil }

// Last returns the last line that is not empty; "" if there is none.
func (t *Tail) Last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

package group

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// act describes the behavior of a simulated process.
type act struct {
	after  time.Duration // when the process ends by itself; 0 means never
	code   int
	signal syscall.Signal
	lost   error
	reason string
	oom    int
	// term is how long the process takes to end after a stop. A stubborn process does not end.
	term     time.Duration
	stubborn bool
	mute     bool // the worker does not answer a stop
	says     string
	at       time.Duration // when the process ends by the worker's clock, since the start; 0 means not reported
	refused  error         // error that Open returns
}

// stage is the opener of one simulated process, and its session.
type stage struct {
	act
	mu      sync.Mutex
	opened  time.Time
	stopped []time.Time // when the process was told to stop
	graces  []time.Duration
	signals []int
	told    chan time.Duration
	end     time.Time
	began   time.Time
}

func newStage(a act) *stage {
	return &stage{act: a, told: make(chan time.Duration, 16), began: time.Now()}
}

func (s *stage) Open(_ context.Context, _ string, _ wire.Spec, _, stderr io.Writer) (Session, error) {
	if s.refused != nil {
		return nil, s.refused
	}
	s.mu.Lock()
	s.opened = time.Now()
	s.mu.Unlock()
	if s.says != "" {
		if _, err := io.WriteString(stderr, s.says); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) Stop(grace time.Duration) {
	s.mu.Lock()
	s.stopped, s.graces = append(s.stopped, time.Now()), append(s.graces, grace)
	s.mu.Unlock()
	s.told <- grace
}

func (s *stage) Signal(sig int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signals = append(s.signals, sig)
}

func (s *stage) Wait(ctx context.Context) (wire.ExitRecord, error) {
	defer func() {
		s.mu.Lock()
		s.end = time.Now()
		s.mu.Unlock()
	}()
	var own <-chan time.Time
	if s.after > 0 {
		own = time.After(s.after)
	}
	var kill, term <-chan time.Time
	for {
		select {
		case <-own:
			return s.record(), s.lost
		case <-ctx.Done():
			return wire.ExitRecord{}, context.Cause(ctx)
		case grace := <-s.told:
			switch {
			case s.mute:
			case s.stubborn || s.term > grace:
				kill = due(grace)
			default:
				term = due(s.term)
			}
		case <-term:
			return wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil
		case <-kill:
			return wire.ExitRecord{Code: 137, Signal: 9, Reason: wire.ReasonStopped}, nil
		}
	}
}

// due is time.After for a delay that may be 0. The race detector of Go ends the program when two goroutines of
// a bubble receive at once from timers that expired before (https://go.dev/issue/78156).
func due(d time.Duration) <-chan time.Time {
	if d > 0 {
		return time.After(d)
	}
	now := make(chan time.Time, 1)
	now <- time.Now()
	return now
}

func (s *stage) record() wire.ExitRecord {
	rec := wire.ExitRecord{Code: s.code, Signal: int(s.signal), Reason: s.reason, OOM: s.oom}
	if s.signal != 0 {
		rec.Code = 128 + int(s.signal)
	}
	if s.at > 0 {
		rec.EndedMillis = s.began.Add(s.at).UnixMilli()
	}
	return rec
}

var errGone = errors.New("worker w-1 lost: its node is gone")

// reporting opens sessions with a method Then.
type reporting struct {
	*stage
	can bool
}

func (r reporting) Open(ctx context.Context, id string, spec wire.Spec, stdout, stderr io.Writer) (Session, error) {
	if _, err := r.stage.Open(ctx, id, spec, stdout, stderr); err != nil {
		return nil, err
	}
	s := &reported{stage: r.stage, can: r.can, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// reported is the session of a reporting stage.
type reported struct {
	*stage
	can    bool
	ctx    context.Context //nolint:containedctx // of the goroutine of Then
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when exit and err are set
	exit   wire.ExitRecord
	err    error
}

func (s *reported) Then(f func()) bool {
	if !s.can {
		return false
	}
	go func() {
		s.exit, s.err = s.stage.Wait(s.ctx)
		close(s.done)
		f()
	}()
	return true
}

func (s *reported) Wait(ctx context.Context) (wire.ExitRecord, error) {
	if !s.can {
		return s.stage.Wait(ctx)
	}
	if ctx.Err() != nil {
		s.cancel(context.Cause(ctx))
	}
	<-s.done
	return s.exit, s.err
}

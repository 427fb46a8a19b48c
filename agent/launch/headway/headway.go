package headway

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/trainer"
)

const (
	// every is the time between two reports. A server may refuse more than one in 5 s.
	every = 10 * time.Second
	// lastWithin is how long the last report of an attempt may take.
	lastWithin = 2 * time.Second
	// warnAfter is how many reports must fail before the user is told, with none that succeeds between
	// them. A controller that restarts misses one or two.
	warnAfter = 3
)

// Reporter sends reports. A nil Reporter, for an environment without a server, does nothing.
type Reporter struct {
	client *trainer.Client
	voice  *console.Voice
	failed int
}

// New returns the reporter for the server that the environment names, or nil.
func New(getenv func(string) string, voice *console.Voice) *Reporter {
	client, err := trainer.FromEnv(getenv)
	if err != nil {
		voice.Warn("cannot report progress: %v", err)
	}
	if client == nil {
		return nil
	}
	return &Reporter{client: client, voice: voice}
}

// attempt knows how far an attempt is. Far returns false as long as that is unknown.
type attempt interface {
	Far(now time.Time) (progress.Far, bool)
}

// Follow reports how far an attempt is until the caller calls stop, which sends the last report.
func (r *Reporter) Follow(ctx context.Context, a attempt) (stop func()) {
	if r == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.follow(ctx, a.Far)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (r *Reporter) follow(ctx context.Context, far func(now time.Time) (progress.Far, bool)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var sent trainer.Report
	for {
		select {
		case now := <-tick.C:
			sent = r.send(ctx, far, now, sent)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
			r.send(last, far, time.Now(), sent)
			cancel()
			return
		}
	}
}

// send sends a report if there is news since the one that was sent, and returns the newest one that
// the server has.
func (r *Reporter) send(ctx context.Context, far func(time.Time) (progress.Far, bool), now time.Time, sent trainer.Report) trainer.Report {
	f, ok := far(now)
	next := trainer.Report{Step: f.Step, Total: f.Total, Left: f.Left}
	if !ok || next.Step == sent.Step && next.Total == sent.Total && sent != (trainer.Report{}) {
		return sent
	}
	err := r.client.Send(ctx, next)
	if err == nil {
		r.failed = 0
		return next
	}
	if errors.Is(err, trainer.ErrLater) {
		return sent
	}
	if r.failed++; r.failed == warnAfter {
		r.voice.Warn("cannot report progress: %v", err)
	}
	return sent
}

// Close ends the reporter's connections.
func (r *Reporter) Close() {
	if r != nil {
		r.client.Close()
	}
}

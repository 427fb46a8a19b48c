package link

import (
	"context"
	"sync"
	"time"
)

// Turns limits how many dials of several links are under way at once. A dial that takes longer than
// slowDial no longer counts, so that workers without an answer do not delay the others. nil is no limit.
type Turns chan struct{}

// NewTurns returns Turns for n dials at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// take waits until fewer dials count than the limit. The dial then counts until leave is called. take
// returns the error of ctx, or errLost if lost is closed before.
func (t Turns) take(ctx context.Context, lost <-chan struct{}) (leave func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-lost:
		return nil, errLost
	}
	var once sync.Once
	free := func() { once.Do(func() { <-t }) }
	timer := time.AfterFunc(slowDial, free)
	return func() {
		timer.Stop()
		free()
	}, nil
}

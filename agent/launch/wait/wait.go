package wait

import (
	"context"
	"time"
)

// Limit returns a channel that fires after d, and a function that stops it. A d of 0 means no
// limit: the channel never fires.
func Limit(d time.Duration) (<-chan time.Time, func()) {
	if d == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

// Within returns a context that ends after d with cause. A d of 0 means no limit.
func Within(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, cause)
}

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Token puts a token into the channel unless it is full.
func Token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

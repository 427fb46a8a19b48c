package launch

import (
	"context"
	"time"
)

// limit returns a channel that fires after d, and a function that stops it. A d of 0 means no
// limit: the channel never fires.
func limit(d time.Duration) (<-chan time.Time, func()) {
	if d == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

// within returns a context that ends after d with cause. A d of 0 means no limit.
func within(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, cause)
}

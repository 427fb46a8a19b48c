package proc

import (
	"context"
	"time"
)

// Settle releases the pages of the program that only its start has used. It does so at once, and
// again after a second, because the runtime's late start of threads brings many of them back. It
// returns after that, or when ctx is done.
func Settle(ctx context.Context) {
	ReleasePages()
	select {
	case <-time.After(time.Second):
		ReleasePages()
	case <-ctx.Done():
	}
}

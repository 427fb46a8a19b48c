//go:build linux

package survey

import (
	"context"
	"net"
	"time"
)

// lookup returns how long it takes to look up the name of an address, or longest if that is not
// over by then. A libc would wait longer: 10 s, unless resolv.conf says otherwise.
func lookup(ctx context.Context, r *net.Resolver, address string, longest time.Duration) time.Duration {
	began := time.Now()
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	_, _ = r.LookupAddr(ctx, address) // that there is no name is an answer too
	if ctx.Err() != nil {
		return longest
	}
	return min(time.Since(began), longest)
}

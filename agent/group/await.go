package group

import (
	"context"
	"fmt"
	"net"
	"time"
)

const (
	patience   = 5 * time.Minute
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	dialTime   = 2 * time.Second
)

// dialTCP tries address from here.
func dialTCP(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// await returns nil when something listens at address, and an error with a
// sentence when nothing does for the patience, or ctx has ended.
func (g *Group) await(ctx context.Context, address string) error {
	deadline := time.Now().Add(g.cfg.Patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := g.cfg.Dial(ctx, address)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !time.Now().Add(pause).Before(deadline) {
			return fmt.Errorf("nothing listens on %s after %s: %w", address, g.cfg.Patience, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

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
	// tellEvery is the time between two messages about an address for which a process waits.
	tellEvery = 15 * time.Second
)

// dialTCP tries to connect to address from this process.
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

// await returns nil when something listens at a process's address. It returns an error with a
// sentence if nothing does within the patience, or if ctx has ended.
func (g *Group) await(ctx context.Context, label, address string) error {
	began := time.Now()
	deadline, told := began.Add(g.cfg.Patience), began
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
		if time.Since(told) >= tellEvery && g.cfg.OnWait != nil {
			told = time.Now()
			g.cfg.OnWait(label, address, told.Sub(began))
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

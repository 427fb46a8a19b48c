//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
)

// live is a row that is running.
type live struct {
	output func(context.Context) string // of the launcher, so far
	stop   func(context.Context) error  // SIGTERM to agent run
	cut    func(context.Context) error  // resets the launcher's connections
}

// during is what befalls a row while it runs, until ctx is done: the moments at
// which it struck.
type during func(ctx context.Context, l live) ([]time.Time, error)

const (
	lookEvery = 300 * time.Millisecond // at a row's output
	cutEvery  = 500 * time.Millisecond
)

// befall has a row's during go on beside the row. The function that it gives ends
// it, and tells what it did.
func befall(ctx context.Context, r row, l live) func() ([]time.Time, error) {
	if r.during == nil {
		return func() ([]time.Time, error) { return nil, nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var struck []time.Time
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		struck, err = r.during(ctx, l)
	}()
	return func() ([]time.Time, error) {
		cancel()
		<-done
		if errors.Is(err, context.Canceled) {
			err = nil // the row has ended
		}
		return struck, err
	}
}

// spoken waits until so many of a framework have spoken.
func spoken(ctx context.Context, l live, name string, n int) error {
	for len(said(l.output(ctx), name)) < n {
		if err := await.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// stopWhen sends SIGTERM to agent run when n ranks have spoken.
func stopWhen(name string, n int) during {
	return func(ctx context.Context, l live) ([]time.Time, error) {
		if err := spoken(ctx, l, name, n); err != nil {
			return nil, err
		}
		at := time.Now()
		return []time.Time{at}, l.stop(ctx)
	}
}

// cutting resets the launcher's connections again and again, from the first
// transfer's begin on.
func cutting(ctx context.Context, l live) (struck []time.Time, err error) {
	if err := spoken(ctx, l, "begins", 1); err != nil {
		return nil, err
	}
	for {
		if err := await.Pause(ctx, cutEvery); err != nil {
			return struck, err
		}
		// There may be no connection just now: what counts is those that were cut.
		if err = l.cut(ctx); err == nil {
			struck = append(struck, time.Now())
		}
	}
}

// outlasts: after SIGTERM the ranks went on to the end of the grace, and the run
// was over soon after.
func outlasts(grace, within time.Duration) want {
	return func(_ row, o outcome) (string, error) {
		if len(o.struck) != 1 {
			return "", errors.New("agent run had ended before it was sent SIGTERM")
		}
		took := o.ended.Sub(o.struck[0])
		if took < grace || took > grace+within {
			return "", fmt.Errorf("the run ended %.1f s after SIGTERM, with a grace of %s", took.Seconds(), grace)
		}
		return fmt.Sprintf("ended %.1f s after SIGTERM, with a grace of %s", took.Seconds(), grace), nil
	}
}

// whole: n transfers are whole, though links were cut in the middle of each.
func whole(n int) want {
	return func(_ row, o outcome) (string, error) {
		transfers := said(o.out, "transfer")
		if len(transfers) != n {
			return "", fmt.Errorf("%d of %d transfers ended", len(transfers), n)
		}
		var seen []string
		for _, l := range transfers {
			if l.Same == nil || !*l.Same {
				return "", fmt.Errorf("%s: what arrived differs from what was sent", l.Name)
			}
			cuts := 0
			for _, at := range o.struck {
				if s := float64(at.UnixMicro()) / 1e6; s > l.At && s < l.Until {
					cuts++
				}
			}
			if cuts < 2 {
				return "", fmt.Errorf("%s: %d cuts in its %.1f s", l.Name, cuts, l.Until-l.At)
			}
			seen = append(seen, fmt.Sprintf("%s, %.1f MB, whole after %d cuts in %.0f s", l.Name, float64(l.Bytes)/1e6, cuts, l.Until-l.At))
		}
		if o.report == nil || o.report.Redials < 2*n {
			return "", fmt.Errorf("the launcher's report: %+v", o.report)
		}
		return strings.Join(append(seen, fmt.Sprintf("%d redials", o.report.Redials)), "; "), nil
	}
}

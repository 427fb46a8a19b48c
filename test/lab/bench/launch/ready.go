//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// mostReady rounds of the second table: making workers takes most of the time.
const mostReady = 3

// readies plays the contenders whose workers are made anew.
func (w *world) readies(ctx context.Context, o options) (results, error) {
	all := results{}
	for _, size := range o.ready {
		for round := range min(o.rounds, mostReady) {
			for _, c := range contenders() {
				if c.pid1 == nil || c.name == "kubexec-unknown" || c.name == "kubexec-slowdns" || !o.takes(c.name) {
					continue
				}
				s, err := w.readyOnce(ctx, c, size)
				if err != nil {
					return nil, fmt.Errorf("ready, %s, %d workers: %w", c.name, size, err)
				}
				w.Say("ready, %d workers, round %d, %-10s last rank's line %.2f s after the last Ready", size, round+1, c.name, s.Last)
				all.add(size, c.name, s)
			}
		}
	}
	return all, nil
}

// readyOnce makes workers while the launcher waits for them.
func (w *world) readyOnce(ctx context.Context, c contender, size int) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*longest)
	defer cancel()
	r, err := w.begin(ctx, c, size)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			cancel()
			_ = r.end() // it was broken off
		}
		err = errors.Join(err, w.remove(context.WithoutCancel(ctx)))
	}()
	if err := r.tell(0); err != nil {
		return s, err
	}
	type seen struct {
		at  time.Time
		err error
	}
	ready := make(chan seen, 1)
	go func() {
		_, at, err := w.ready(ctx, size)
		ready <- seen{at, err}
	}()
	if err := w.create(ctx, size, c.pid1); err != nil {
		cancel()
		<-ready
		return s, err
	}
	first, last, err := r.until(lineRank, size)
	if err != nil {
		cancel()
	}
	saw := <-ready
	if err := errors.Join(err, saw.err); err != nil {
		return s, err
	}
	s.First, s.Last = first.Sub(saw.at).Seconds(), last.Sub(saw.at).Seconds()
	return s, r.end()
}

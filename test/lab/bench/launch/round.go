//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
)

const (
	stay     = 3           // seconds that ranks stay
	heldAt   = time.Second // after the last rank's line: what is held while the job runs
	apart    = 100 * time.Millisecond
	longest  = 3 * time.Minute
	lineRank = "rank "
)

// sample is one launch, in seconds and MB.
type sample struct {
	First, Last float64 // rank's first line, from mpirun's start
	CPU         float64 // of the launcher from mpirun's start to its end
	Whole       float64 // with what was before that
	Held, Peak  float64 // memory; Peak is 0 in rounds that are timed
	Streams     float64 // at the API server while the job runs
	Requests    float64 // a worker, from start to end

	from, to time.Time
}

// script is one that has been started in a launcher.
type script struct {
	c      container
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *bufio.Scanner
	stderr *bytes.Buffer
}

// begin starts a contender's script.
func (w *world) begin(ctx context.Context, c contender, workers int) (*script, error) {
	r := &script{c: w.launchers[c.launcher], stderr: &bytes.Buffer{}}
	r.cmd = r.c.enter(ctx, c.line(workers), c.env...)
	if c.launcher == floorPod {
		r.cmd = r.c.outside(ctx, c.line(workers), c.env...)
	}
	stdout, err := r.cmd.StdoutPipe()
	if err == nil {
		r.stdin, err = r.cmd.StdinPipe()
	}
	r.cmd.Stderr = r.stderr
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	r.out = bufio.NewScanner(stdout)
	return r, nil
}

// until reads lines up to the nth that begins with word, and gives the moments of the first and of
// that one.
func (r *script) until(word string, n int) (first, last time.Time, err error) {
	var other []string
	for seen := 0; r.out.Scan(); {
		if !strings.HasPrefix(r.out.Text(), word) {
			other = append(other, r.out.Text())
			continue
		}
		last = time.Now()
		if seen++; seen == 1 {
			first = last
		}
		if seen == n {
			return first, last, nil
		}
	}
	return first, last, fmt.Errorf("no %d lines of %q:\n%s\n%s", n, word, strings.Join(other, "\n"), r.stderr)
}

// tell says the word that the script waits for: how many seconds its ranks stay.
func (r *script) tell(seconds int) error {
	_, err := fmt.Fprintln(r.stdin, seconds)
	return errors.Join(err, r.stdin.Close())
}

// end waits for the script's.
func (r *script) end() error {
	for r.out.Scan() {
	}
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, r.stderr)
	}
	return nil
}

// launch plays a contender once. A sampled round says what the launcher's memory was at its
// peak; its times are disturbed by that.
func (w *world) launch(ctx context.Context, c contender, workers int, sampled bool) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s, %d workers: %w", c.name, workers, err)
		}
	}()
	s.from = time.Now()
	box := w.launchers[c.launcher]
	before, err := box.cpu()
	if err != nil {
		return s, err
	}
	r, err := w.begin(ctx, c, workers)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			cancel()
			_ = r.end() // it was broken off
		}
	}()
	if _, _, err := r.until("ready", 1); err != nil {
		return s, err
	}
	gotReady, err := box.cpu()
	if err != nil {
		return s, err
	}
	var peak func() (float64, error)
	if sampled {
		peak = sampling(ctx, box)
	}
	told := time.Now()
	if err := r.tell(stay); err != nil {
		return s, err
	}
	first, last, err := r.until(lineRank, workers)
	if err != nil {
		return s, err
	}
	s.First, s.Last = first.Sub(told).Seconds(), last.Sub(told).Seconds()
	if sampled {
		if s.Peak, err = peak(); err != nil {
			return s, err
		}
	}
	if err := w.held(ctx, box, &s); err != nil {
		return s, err
	}
	if err := r.end(); err != nil {
		return s, err
	}
	after, err := box.cpu()
	s.CPU, s.Whole, s.to = after-gotReady, after-before, time.Now()
	return s, err
}

// held measures what is there while ranks only sleep.
func (w *world) held(ctx context.Context, box container, s *sample) (err error) {
	if err := await.Pause(ctx, heldAt); err != nil {
		return err
	}
	if s.Held, err = box.pss(); err != nil {
		return err
	}
	server, err := w.Server(ctx)
	s.Streams = server.Streams
	return err
}

// sampling looks at the memory again and again, until the function that it gives is called.
func sampling(ctx context.Context, box container) (stop func() (float64, error)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	var peak float64
	go func() {
		for {
			now, err := box.pss()
			peak = max(peak, now)
			select {
			case <-time.After(apart):
			case <-ctx.Done():
				done <- err
				return
			}
		}
	}()
	return func() (float64, error) {
		cancel()
		err := <-done
		return peak, err
	}
}

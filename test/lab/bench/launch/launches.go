//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results are the samples of one table, by size and contender, in order.
type results map[int]map[string][]sample

func (r results) add(size int, name string, s sample) {
	if r[size] == nil {
		r[size] = map[string][]sample{}
	}
	r[size][name] = append(r[size][name], s)
}

// launches runs all contenders in turns at each size. The first sample of each contender is the warm-up.
func (w *world) launches(ctx context.Context, o options) (results, error) {
	all := results{}
	for _, size := range o.sizes {
		if err := w.launchOn(ctx, o, size, all); err != nil {
			return nil, fmt.Errorf("%d workers: %w", size, err)
		}
	}
	return all, nil
}

// launchOn creates workers that serve all contenders: the agent is their PID 1, and sshd runs
// next to it.
func (w *world) launchOn(ctx context.Context, o options, size int, all results) (err error) {
	if err := w.create(ctx, size, []string{"/muster/agent", "worker"}); err != nil {
		return err
	}
	gone := false
	remove := func() error {
		if gone {
			return nil
		}
		gone = true
		return w.remove(context.WithoutCancel(ctx))
	}
	defer func() { err = errors.Join(err, remove()) }()
	addresses, _, err := w.ready(ctx, size)
	if err != nil {
		return err
	}
	found, err := containers(workers(size))
	if err != nil {
		return err
	}
	if err := w.layFloor(found, addresses); err != nil {
		return err
	}
	wait, err := w.serveSSH(ctx, found, addresses)
	if wait != nil {
		defer wait()
		defer func() { err = errors.Join(err, remove()) }() // runs before wait
	}
	if err != nil {
		return err
	}
	began := time.Now()
	for round := range o.rounds + 1 { // the first round is the warm-up
		for _, c := range turns(round) {
			if !o.takes(c.name) {
				continue
			}
			s, err := w.launch(ctx, c, size, round == 0)
			if err != nil {
				return err
			}
			w.Say("%d workers, round %d, %-15s first %.2f s, last %.2f s, CPU %.2f s, with dialing %.2f s, %.0f MB held, %.0f streams",
				size, round, c.name, s.First, s.Last, s.CPU, s.Whole, s.Held, s.Streams)
			all.add(size, c.name, s)
		}
		if o.takes(execFloor) {
			s, err := w.execFloor(ctx, size)
			if err != nil {
				return err
			}
			w.Say("%d workers, round %d, %-15s %.2f s", size, round, execFloor, s.Last)
			all.add(size, execFloor, s)
		}
	}
	return w.count(ctx, size, began, all[size])
}

// turns returns the contenders in the order of a round. In every second round it is reversed, because a launch
// leaves work for the next one: its processes are still ending.
func turns(round int) []contender {
	list := contenders()
	if round%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// execFloor opens an exec for each worker.
func (w *world) execFloor(ctx context.Context, size int) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := w.launchers[kubexecPod].enter(ctx, "exec /bench/inpod exec -workers "+strconv.Itoa(size))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("exec floor: %w\n%s", err, stderr.String())
	}
	s.Last, err = strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return s, err
}

// mostReady is the maximum number of rounds of the second table, because creating workers takes most of the time.
const mostReady = 3

// readies runs the contenders with new workers each time.
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

// readyOnce creates workers while the launcher waits for them.
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
			_ = r.end() // it fails, because the script was interrupted
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

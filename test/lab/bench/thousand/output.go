//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/test/suite/await"
)

// rate is how many lines a second each rank writes.
const rate = 10

// outcome is what became of the lines of one run.
type outcome struct {
	Size          int
	Played        bool    // all workers by one process
	Lines, Lost   int     // written, and of these not come, come twice or out of order
	P50, P99, Max float64 // seconds from a rank's write to our read
	LauncherCPU   float64 // of a core, while they came
	ServerCPU     float64 // the API server's
	NodesCPU      float64 // the kubelet's side, without its workers and ranks
	MachineCPU    float64 // everything's on this machine
	LauncherMB    float64 // at most
	Span          float64 // seconds from the first line to the last
}

// output has all ranks write at once, for so many seconds.
func (w *world) output(ctx context.Context, size, seconds int, played bool) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+5*time.Minute)
	defer cancel()
	lines := 0
	if played {
		lines = seconds * rate
	}
	f, err := w.startFarm(ctx, size, lines)
	if err != nil {
		return o, err
	}
	o.Size, o.Played = size, played
	if err := w.print(ctx, &o, f, seconds); err != nil {
		f.kill()
		return o, err
	}
	_, err = f.end(size)
	return o, err
}

func (w *world) print(ctx context.Context, o *outcome, f *farm, seconds int) error {
	p, err := listenPrinter(w.gatePath() + ".sock")
	if err != nil {
		return err
	}
	defer p.close()
	l, err := w.launch(o.Size, "print")
	if err != nil {
		return err
	}
	defer l.kill()
	if !o.Played {
		if err := p.gather(ctx, o.Size); err != nil {
			return fmt.Errorf("%w\n%s", err, l.lastWords())
		}
	}
	if _, err := l.allBegun(ctx, o.Size); err != nil {
		return err
	}
	if err := await.Pause(ctx, calm-time.Second); err != nil {
		return err
	}
	before, err := w.spent(ctx, l, f)
	if err != nil {
		return err
	}
	printed := make(chan error, 1)
	go func() {
		defer l.release()
		defer p.close()
		if o.Played {
			printed <- nil // they do it by themselves
			return
		}
		printed <- p.print(ctx, seconds*rate, rate)
	}()
	t := newTimes(o.Size, seconds*rate)
	for one := range l.lines {
		t.take(one)
	}
	if err := <-printed; err != nil {
		return fmt.Errorf("%w\n%s", err, l.lastWords())
	}
	told, err := l.wait(ctx)
	if err != nil {
		return err
	}
	if told.Redials > 0 {
		return fmt.Errorf("%d links broke", told.Redials)
	}
	after, err := w.spent(ctx, l, f)
	if err != nil {
		return err
	}
	if len(t.late) == 0 {
		return errors.New("no lines came")
	}
	o.Lines, o.Lost = o.Size*seconds*rate, t.lost()
	o.Span = t.last.Sub(t.first).Seconds()
	o.P50, o.P99, o.Max = t.part(0.5), t.part(0.99), t.part(1)
	o.LauncherCPU, o.LauncherMB = (after.launcher-before.launcher)/o.Span, l.last.Load().PeakMB
	o.ServerCPU, o.NodesCPU = (after.server-before.server)/o.Span, (after.nodes-before.nodes)/o.Span
	o.MachineCPU = (after.machine - before.machine) / o.Span
	return nil
}

// spent is the processors' time, in seconds, of all who have a part in it.
type spent struct{ launcher, server, nodes, machine float64 }

func (w *world) spent(ctx context.Context, l *launcher, f *farm) (spent, error) {
	server, err := w.Server(ctx)
	nodes, nerr := f.usage()
	machine, merr := machineCPU()
	return spent{l.last.Load().CPUSeconds, server.CPUSeconds, nodes.CPUSeconds, machine}, errors.Join(err, nerr, merr)
}

// times are how late lines came.
type times struct {
	each        int   // lines of a rank
	next        []int // by rank: the line to come
	wrong       int   // lines that were not
	late        []float64
	first, last time.Time
}

func newTimes(ranks, each int) *times { return &times{each: each, next: make([]int, ranks)} }

func (t *times) take(l line) {
	if l.kind != "line" {
		return
	}
	if l.rank < 0 || l.rank >= len(t.next) || l.seq != t.next[l.rank] {
		t.wrong++
		return
	}
	t.next[l.rank]++
	t.late = append(t.late, l.came.Sub(l.said).Seconds())
	if t.first.IsZero() {
		t.first = l.came
	}
	t.last = l.came
}

// lost counts lines that did not come in their place.
func (t *times) lost() int {
	lost := t.wrong
	for _, n := range t.next {
		lost += t.each - n
	}
	return lost
}

// part is the lateness that so great a part of the lines did not exceed.
func (t *times) part(of float64) float64 {
	sorted := slices.Sorted(slices.Values(t.late))
	return sorted[min(len(sorted)-1, int(of*float64(len(sorted))))]
}

func (o outcome) String() string {
	return fmt.Sprintf("%d ranks, played %t: %d lines, %d lost; late by %.3f s at p50, %.3f s at p99, %.3f s at most", o.Size, o.Played, o.Lines, o.Lost, o.P50, o.P99, o.Max)
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// calm is between the last session's begin and the first line: the launch has its own
// stragglers.
const calm = 3 * time.Second

// players are all workers of a run in this process, for what a thousand processes that
// wake up would hide.
type players struct {
	list  map[string]*player
	order []*player
	wrote chan error // the end of the lines
}

func newPlayers(workers int) *players {
	all := &players{list: map[string]*player{}, wrote: make(chan error, 1)}
	for i := range workers {
		p := newPlayer(podName(i))
		all.list[p.pod] = p
		all.order = append(all.order, p)
	}
	return all
}

func (all *players) join(pod string, in io.Reader, out io.Writer) error {
	p := all.list[pod]
	if p == nil {
		return fmt.Errorf("no pod %s", pod)
	}
	return p.join(in, out)
}

// print has all ranks write once the last session has begun, and ends their output.
func (all *players) print(ctx context.Context, lines, rate int) {
	var outs []io.Writer
	for _, p := range all.order {
		select {
		case <-p.opened:
		case <-ctx.Done():
			all.wrote <- ctx.Err()
			return
		}
		outs = append(outs, p.out)
	}
	time.Sleep(calm)
	err := printLines(ctx, outs, lines, rate)
	for _, p := range all.order {
		p.out.End()
	}
	all.wrote <- err
}

// finish implements workers: those count as ended by themselves whose launcher has
// told them that the job is over.
func (all *players) finish(workers int) farmReport {
	said := farmReport{Codes: map[int]int{}}
	err := errors.New("the lines do not end")
	select {
	case err = <-all.wrote:
	case <-time.After(patience):
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "thousand: "+err.Error())
		return farmReport{Left: workers}
	}
	for _, p := range all.order {
		p.mu.Lock()
		if p.over {
			said.Ended++
		}
		p.mu.Unlock()
	}
	said.Left, said.Codes[0] = workers-said.Ended, said.Ended
	return said
}

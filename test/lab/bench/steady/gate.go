//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// gate lets the ranks of an arm compute for a slice at a time. They sleep in front of a
// lock that is ours until their slice begins; slices take two locks in turn, so that one
// is shut again before anybody comes back to it.
type gate struct {
	path  string
	locks [2]*os.File
	told  *os.File // FIFO: rank 0's seconds of each slice
	lines *bufio.Reader
	next  int
}

const sliceLimit = time.Minute

// newGate makes an arm's gate, which is open.
func newGate(a *arm) (*gate, error) {
	g := &gate{path: filepath.Join(a.dir, a.name)}
	for i := range g.locks {
		path := g.path + "-" + strconv.Itoa(i)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return g, err
		}
		g.locks[i] = f
		if err := os.Chmod(path, 0o666); err != nil {
			return g, err
		}
	}
	var err error
	g.told, err = a.fifo(a.name + "-slices") // the arm closes it
	g.lines = bufio.NewReader(g.told)
	return g, err
}

// shut is for ranks that are yet to start.
func (g *gate) shut() error {
	g.next = 0
	err := os.RemoveAll(g.path + "-end")
	for _, f := range g.locks {
		err = errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	}
	return err
}

// slice lets the ranks compute for one, and gives its seconds.
func (g *gate) slice(ctx context.Context) (float64, error) {
	lock := int(g.locks[g.next%2].Fd())
	g.next++
	if err := errors.Join(unix.Flock(lock, unix.LOCK_UN), g.told.SetReadDeadline(time.Now().Add(sliceLimit))); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = g.told.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := g.lines.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("await the end of a slice: %w", errors.Join(err, ctx.Err()))
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return seconds, errors.Join(err, unix.Flock(lock, unix.LOCK_EX))
}

// end lets the ranks go.
func (g *gate) end() error {
	err := os.WriteFile(g.path+"-end", nil, 0o644)
	for _, f := range g.locks {
		err = errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_UN))
	}
	return err
}

func (g *gate) close() {
	for _, f := range g.locks {
		if f != nil {
			f.Close()
		}
	}
}

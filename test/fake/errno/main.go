//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	bin, only        string
	subset, parallel int
	seed             uint64
	limit            time.Duration
	verbose          bool
}

func main() {
	if len(os.Args) > 3 && os.Args[1] == denied {
		fmt.Fprintln(os.Stderr, "errno: "+withoutForks(os.Args[2], os.Args[3:]).Error())
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "errno: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of agent and agent-launcher")
	flag.StringVar(&o.only, "only", "", "only the runs below these, as in pid1/accept,broker")
	flag.IntVar(&o.subset, "subset", 0, "only `N` short ones, chosen by -seed [all]")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice")
	flag.IntVar(&o.parallel, "parallel", 4, "runs at once")
	flag.DurationVar(&o.limit, "limit", 90*time.Second, "how long a run may take before it hangs")
	flag.BoolVar(&o.verbose, "v", false, "show what every run printed")
	flag.Parse()
	if _, err := exec.LookPath("strace"); err != nil {
		return fmt.Errorf("%w: apt-get install strace", err)
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	list := chosen(o.only, o.subset, o.seed)
	if len(list) == 0 {
		return fmt.Errorf("-only=%s: no such run", o.only)
	}
	// Binaries are linked into the runs' directories: both have to be on one file system.
	dir, err := os.MkdirTemp(bin, "e")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	results, err := playAll(ctx, &player{bin: bin, self: self, dir: dir, limit: o.limit}, list, o)
	if err != nil {
		return err
	}
	return report(results, o)
}

// playAll plays the runs, some at once, in the order of list.
func playAll(ctx context.Context, p *player, list []cell, o options) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range o.parallel {
		wg.Go(func() {
			for i := range next {
				r, err := p.play(ctx, list[i])
				if err != nil {
					cancel(fmt.Errorf("%s: %w", list[i], err))
					return
				}
				results[i] = r
				if o.verbose || bad(r.End) {
					fmt.Printf("%-32s %-6s %3d %6.1f s %3d faults %3s  %s\n", r.Cell, r.End, r.Code, r.Seconds, r.Faults, r.Exit, r.Words)
				}
				if o.verbose {
					fmt.Println(r.out)
				}
			}
		})
	}
	for i := range list {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) || ctx.Err() != nil {
		return nil, err
	}
	return results, nil
}

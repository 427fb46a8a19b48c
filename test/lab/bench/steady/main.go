//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/test/lab/measure"
)

// options are the command line.
type options struct {
	pairs, workers, launches, blocks, turns int
	settle                                  time.Duration
	image, bin, only                        string
}

func main() { measure.Main("steady", run) }

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.pairs, "pairs", 18, "start hpcc `N` times with Muster, and without beside it")
	flag.IntVar(&o.workers, "workers", 20, "`N` workers for the loop")
	flag.IntVar(&o.launches, "launches", 4, "start the loop `N` times with Muster, and without beside it")
	flag.IntVar(&o.blocks, "blocks", 8, "count `N` blocks of slices in each launch of the loop")
	flag.IntVar(&o.turns, "turns", 80, "`N` turns of the loop in a slice")
	flag.DurationVar(&o.settle, "settle", 65*time.Second, "how `long` a launch of the loop computes before it counts")
	flag.StringVar(&o.image, "image", "openmpi", "the pods' image, of images/")
	flag.StringVar(&o.bin, "bin", "", "the agent's programs of `DIR`, in place of the image's")
	flag.StringVar(&o.only, "only", "", "hpl or allreduce (default: both)")
	flag.Parse()
	if o.only != "" && o.only != "hpl" && o.only != "allreduce" {
		return fmt.Errorf("-only=%s: there are hpl and allreduce", o.only)
	}
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("MUSTER_KUBECTL") == "" {
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/lab/cluster run . env)\"")
	}
	var all []compared
	for _, l := range loads(o) {
		if o.only != "" && o.only != l.key {
			continue
		}
		c, err := compare(ctx, o, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.key, err)
		}
		all = append(all, c)
	}
	return save(ctx, o, all)
}

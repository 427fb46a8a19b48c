//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/musterhq/muster/test/measure"
)

// options are the command line.
type options struct {
	pairs, workers, times, seconds int
	image, bin, only               string
}

func main() { measure.Main("steady", run) }

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.pairs, "pairs", 10, "`N` runs with Muster and as many without, of each load")
	flag.IntVar(&o.workers, "workers", 20, "`N` workers for the loop")
	flag.IntVar(&o.times, "times", 12000, "count `N` turns of the loop in a run, behind a third as many that do not count")
	flag.IntVar(&o.seconds, "seconds", 75, "count the agents' CPU time for `N` seconds")
	flag.StringVar(&o.image, "image", "openmpi", "the pods' image, of images/")
	flag.StringVar(&o.bin, "bin", "", "the agent's programs of `DIR`, in place of the image's")
	flag.StringVar(&o.only, "only", "", "hpl or allreduce (default: both)")
	flag.Parse()
	if o.only != "" && o.only != "hpl" && o.only != "allreduce" {
		return fmt.Errorf("-only=%s: there are hpl and allreduce", o.only)
	}
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("MUSTER_KUBECTL") == "" {
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/cluster run . env)\"")
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

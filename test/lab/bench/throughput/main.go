//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/musterhq/muster/test/lab/bench/pods"
	"github.com/musterhq/muster/test/lab/measure"
)

// options are the command line.
type options struct {
	mib, rounds, several int
	image, bin           string
}

func main() { measure.Main("throughput", run) }

func run(ctx context.Context) (err error) {
	var o options
	flag.IntVar(&o.mib, "mib", 256, "carry `N` MiB by each stream")
	flag.IntVar(&o.rounds, "rounds", 11, "`N` rounds with one session")
	flag.IntVar(&o.several, "several", 3, "`N` rounds with four sessions, and with standard input")
	flag.StringVar(&o.image, "image", "openmpi", "the pods' image, of images/")
	flag.StringVar(&o.bin, "bin", "", "the agent's programs of `DIR`, in place of the image's")
	flag.Parse()
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("MUSTER_KUBECTL") == "" {
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/lab/cluster run . env)\"")
	}
	space, err := pods.NewSpace(ctx, "throughput")
	defer func() { err = errors.Join(err, space.Close(ctx)) }()
	if err != nil {
		return err
	}
	w := &world{space: space, job: pods.Job{Name: "stream", Image: o.image, Bin: o.bin, Workers: 1, Looks: true,
		Launcher: []string{"run", "--job=stream", "--workers=1", "--", "sleep", "inf"}, Worker: []string{"worker"}}}
	if err := w.prepare(ctx, o.mib); err != nil {
		return err
	}
	var all []samples
	for _, set := range sets(o) {
		got, err := w.rounds(ctx, set)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		all = append(all, got...)
	}
	return save(ctx, o, all)
}

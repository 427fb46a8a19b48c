//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/measure"
)

// options are the command line.
type options struct {
	workers measure.Sizes
	rounds  int
	only    string
	image   string
	kubectl string
}

func main() { measure.Main("hold", run) }

func run(ctx context.Context) (err error) {
	o := options{workers: measure.Sizes{20, 60}}
	flag.Var(&o.workers, "workers", "sizes of the jobs, `N,N`")
	flag.IntVar(&o.rounds, "rounds", 1, "run each contender `N` times at each size")
	flag.StringVar(&o.only, "only", "", "only these contenders, separated by commas")
	flag.StringVar(&o.image, "image", "localhost/muster-bench:dev", "`NAME` of the image of images/bench")
	flag.Parse()
	chosen := slices.DeleteFunc(contenders(), func(c contender) bool {
		return o.only != "" && !slices.Contains(strings.Split(o.only, ","), c.key)
	})
	if len(chosen) == 0 {
		return fmt.Errorf("-only=%s: there are muster, attached, kubexec and flat", o.only)
	}
	if o.kubectl = os.Getenv("MUSTER_KUBECTL"); o.kubectl == "" {
		return errors.New("no $MUSTER_KUBECTL: a kubectl of the cluster's version is wanted: eval \"$(go -C test/lab/cluster run . env)\"")
	}
	m, err := measure.New("hold")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	w := &world{World: m, image: o.image, kubectl: o.kubectl}
	results, err := w.all(ctx, o, chosen)
	if err != nil {
		return err
	}
	return w.report(o, chosen, results)
}

//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/test/lab/measure"
)

// options are the command line.
type options struct {
	sizes, ready []int
	rounds       int
	only         []string // contenders
}

func main() { measure.Main("launch", run) }

func run(ctx context.Context) (err error) {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	m, err := measure.New("launch")
	if err != nil {
		return err
	}
	w := &world{World: m, ns: "launch-" + strings.ToLower(rand.Text()[:5])}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.prepare(ctx); err != nil {
		return err
	}
	launches, err := w.launches(ctx, o)
	if err != nil {
		return err
	}
	readies, err := w.readies(ctx, o)
	if err != nil {
		return err
	}
	notes, err := w.versions(ctx)
	if err != nil {
		return err
	}
	return errors.Join(saveLaunches(launches, notes), saveReadies(readies, notes), recordAll(launches, readies))
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("launch", flag.ContinueOnError)
	sizes := flags.String("workers", "2,20,60", "`SIZES` to launch on")
	ready := flags.String("ready", "60", "`SIZES` of the second table, whose workers are made anew; none: \"\"")
	only := flags.String("only", "", "`LIST` of contenders (default: "+strings.Join(names(), ",")+")")
	flags.IntVar(&o.rounds, "rounds", 4, "`N` rounds of the first table, besides the one that warms up; the second has 3 at most")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.sizes, err = numbers(*sizes); err == nil {
		o.ready, err = numbers(*ready)
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name != "" && !slices.Contains(names(), name) {
			return o, fmt.Errorf("-only: no contender %q", name)
		}
		if name != "" {
			o.only = append(o.only, name)
		}
	}
	return o, err
}

func numbers(list string) (all []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		if word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("no number of workers: %q", word)
		}
		all = append(all, n)
	}
	return all, nil
}

// takes tells whether a contender is wanted.
func (o options) takes(name string) bool { return len(o.only) == 0 || slices.Contains(o.only, name) }

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/test/fault/leg"
)

// mortal carries 64 MiB of output over connections that die after 256 KiB each,
// and 16 MiB of input: a reset takes back more of that, which waits in the
// servers' buffers.
func mortal(y *yard, o options, b *book) error {
	size, input := 64<<20, 16<<20
	if o.subset {
		size, input = 8<<20, 2<<20
	}
	type outcome struct {
		Whole   bool    `json:"sha256_equal"`
		Bytes   int     `json:"bytes"`
		Redials int     `json:"redials"`
		Seconds float64 `json:"seconds"`
	}
	raw := map[string]any{}
	var mu sync.Mutex
	var all sync.WaitGroup
	var errs []error
	for i, c := range []struct {
		name, transport string
		way             leg.Way
		load            load
	}{
		{"stdout", webSocket, leg.Up, load{seed: o.seed, stdin: 1, stdout: size, code: 42}},
		{"stdin", webSocket, leg.Down, load{seed: o.seed, stdin: input, stdout: 1, code: 42}},
		{"stdout_spdy", spdy, leg.Up, load{seed: o.seed, stdin: 1, stdout: size, code: 42}},
		{"stdin_spdy", spdy, leg.Down, load{seed: o.seed, stdin: input, stdout: 1, code: 42}},
	} {
		all.Go(func() {
			began := time.Now()
			res, err := y.dying(fmt.Sprintf("m%d", i), c.transport, c.way, c.load)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			out := outcome{Whole: err == nil && !res.bad(), Bytes: c.load.stdin + c.load.stdout, Redials: res.Redials, Seconds: time.Since(began).Seconds()}
			raw[c.name+"_equal"], raw[c.name] = out.Whole, out
			raw[c.name+"_redials"] = out.Redials
			fmt.Printf("  %s: %+v\n", c.name, out)
		})
	}
	all.Wait()
	log, err := b.raw("fault-mortal", raw)
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for _, name := range []string{"stdout", "stdin", "stdout_spdy", "stdin_spdy"} {
		bytes := size
		if strings.HasPrefix(name, "stdin") {
			bytes = input
		}
		what := fmt.Sprintf("%d MiB of %s over a link that dies every 256 KiB", bytes>>20, name)
		err = errors.Join(err,
			b.row(what+": SHA-256 equal", log+"#"+name+"_equal", "==", 1),
			b.row(what+": redials", log+"#"+name+"_redials", ">=", float64(bytes>>18)-2))
	}
	return err
}

func (y *yard) dying(name, transport string, way leg.Way, what load) (res result, err error) {
	r, err := y.newRig(name, transport, false)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.warm(); err != nil {
		return res, err
	}
	what.starts = r.dir + "/starts"
	r.legs[clientLeg].Mortal(way, 256<<10)
	l := r.link(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	err = r.carry(ctx, l, what, &res)
	res.Redials = l.State().Redials
	return res, errors.Join(err, l.stop())
}

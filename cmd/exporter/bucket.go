package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/archive/s3"
	"github.com/musterhq/muster/exec/names"
)

const (
	// checkTime is how long a server may take to answer before a run begins, and checkEvery how often it is tried.
	checkTime  = 30 * time.Second
	checkEvery = 2 * time.Second
	// restTime is how long the rest of a run's output may take when the run has ended. The launcher waits a few
	// seconds longer. The workers have ended by then, so no device waits for it.
	restTime = 2 * time.Minute
)

// bucketVerbs are the verbs for the output of a run in a bucket. The launcher calls the first two, agent logs the
// third.
func bucketVerbs() map[string]func(*bucketCall) error {
	return map[string]func(*bucketCall) error{"check": (*bucketCall).check, "upload": (*bucketCall).upload, "fetch": (*bucketCall).fetch}
}

// bucketCall is a call of one of these verbs.
type bucketCall struct {
	store           s3.Store
	target          s3.Target
	run             string // "": the newest
	words           []string
	rank            *int
	in              io.Reader
	out, complaints io.Writer
}

// runBucket runs one of bucketVerbs, and returns its exit code.
func runBucket(verb string, args []string, getenv func(string) string, in io.Reader, out, complaints io.Writer) int {
	set := flag.NewFlagSet("agent-exporter "+verb, flag.ContinueOnError)
	set.SetOutput(complaints)
	set.Usage = func() {
		fmt.Fprintln(complaints, "usage: agent-exporter check s3://BUCKET/PREFIX\n       agent-exporter upload s3://BUCKET/PREFIX DIR </dev/null\n       agent-exporter fetch [-rank N] s3://BUCKET/PREFIX[/RUN] DIR")
		set.PrintDefaults()
	}
	rank := set.Int("rank", -1, "fetch only the output of rank `N`")
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return names.ExitUsage
	case set.NArg() != map[string]int{"check": 1, "upload": 2, "fetch": 2}[verb]:
		set.Usage()
		return names.ExitUsage
	}
	c := &bucketCall{words: set.Args(), in: in, out: out, complaints: complaints}
	if *rank >= 0 {
		c.rank = rank
	}
	if err := c.open(getenv, verb); err != nil {
		complain(complaints, err, "--output=s3://BUCKET/PREFIX and AWS_ENDPOINT_URL=https://s3.example.com")
		return names.ExitUsage
	}
	if err := bucketVerbs()[verb](c); err != nil {
		complain(complaints, err, s3.Hint(err))
		if s3.IsLasting(err) {
			return names.ExitUsage
		}
		return names.ExitOutput
	}
	return 0
}

// open opens the store that the first word names.
func (c *bucketCall) open(getenv func(string) string, verb string) (err error) {
	if c.target, err = s3.Parse(c.words[0]); err != nil {
		return err
	}
	if verb == "fetch" {
		c.target, c.run = s3.RunOf(c.target)
	}
	c.store, err = c.target.Open(s3.ServerOf(getenv))
	return err
}

// check reports whether a run could keep its output in the store.
func (c *bucketCall) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	return s3.Check(ctx, c.store, checkEvery)
}

// upload copies the run in a directory until the input ends, and then the rest.
func (c *bucketCall) upload() error {
	// The end of the input is the end of the run. A signal to the whole container comes before it.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() { // ends with the input, which ends with the launcher
		defer close(ended)
		_, _ = io.Copy(io.Discard, c.in)
	}()
	u := &s3.Upload{Store: c.store, Dir: c.words[1], Rest: restTime, Say: func(err error) {
		if err == nil {
			complain(c.complaints, fmt.Errorf("output is copied to %s again", c.target), "")
			return
		}
		complain(c.complaints, fmt.Errorf("output is not copied at the moment: %w", err), s3.Hint(err))
	}}
	return u.Run(context.Background(), ended)
}

// fetch copies a run to a directory. It prints the name of the run, and how many there are if it chose the newest.
func (c *bucketCall) fetch() error {
	ctx, n := context.Background(), 0
	if c.run == "" {
		runs, err := s3.Runs(ctx, c.store)
		if err != nil {
			return err
		}
		if n = len(runs); n == 0 {
			return fmt.Errorf("%s has no output of a run", c.target)
		}
		c.run = runs[n-1]
	}
	if _, err := fmt.Fprintln(c.out, c.run, n); err != nil {
		return err
	}
	return s3.Fetch(ctx, c.store, c.run, c.words[1], c.rank)
}

//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "conform: "+err.Error())
		os.Exit(1)
	}
}

// options are the options of the command line.
type options struct {
	bin, wheels, source, doc         string
	quick, noBare, onlyBare, verbose bool
	columns, events                  string
	parallel                         int
}

func run() error {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of agent and agent-launcher")
	flag.StringVar(&o.wheels, "wheels", "", "where deps.sh --conform put the MPIs (default: $MUSTER_MPIS, else ~/.cache/muster/mpi)")
	flag.StringVar(&o.source, "source", "test/conform/testdata/endure.c", "the MPI program")
	flag.StringVar(&o.doc, "doc", "", "write the matrix to this page")
	flag.BoolVar(&o.quick, "quick", false, "Debian's MPIs under agent run only; writes no figures")
	flag.BoolVar(&o.noBare, "no-bare", false, "without the runs of mpirun by itself")
	flag.BoolVar(&o.onlyBare, "only-bare", false, "the runs of mpirun by itself only")
	flag.BoolVar(&o.verbose, "v", false, "show the output of every cell")
	flag.StringVar(&o.columns, "columns", "", "only these columns, separated by commas")
	flag.StringVar(&o.events, "events", "", "only these events, separated by commas")
	flag.IntVar(&o.parallel, "parallel", 4, "cells at once: they mostly wait")
	flag.Parse()
	if o.wheels == "" {
		o.wheels = os.Getenv("MUSTER_MPIS")
	}
	if o.wheels == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.wheels = filepath.Join(home, "muster", "mpi")
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mc") // short, because sockets are below it
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := prepare(o, dir)
	if err != nil {
		return err
	}
	crash := filepath.Join(dir, "crash.so")
	source := filepath.Join(filepath.Dir(o.source), "crash.c")
	if said, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-o", crash, source).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", crash, err, said)
	}
	m.make(bench{bin: bin, dir: dir, crash: crash}, o)
	return m.report(o)
}

// prepare chooses the columns and rows.
func prepare(o options, dir string) (*matrix, error) {
	m := &matrix{}
	for _, c := range columns(o.wheels) {
		if o.quick && !c.quick || !wanted(o.columns, c.key) {
			continue
		}
		if err := c.prepare(o.source, dir, o.wheels); err != nil {
			return nil, err
		}
		m.columns = append(m.columns, c)
	}
	for _, e := range events() {
		if o.quick && e.limit == frozenLimit {
			e.flags = append(e.flags, "--frozen-after=8s") // only the time changes
		}
		if wanted(o.events, e.key) {
			m.events = append(m.events, e)
		}
	}
	if len(m.columns) == 0 || len(m.events) == 0 {
		return nil, fmt.Errorf("no cell matches -columns %q and -events %q", o.columns, o.events)
	}
	m.whole = !o.quick && o.columns == "" && o.events == "" && !o.noBare && !o.onlyBare
	return m, nil
}

func wanted(list, key string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), key)
}

// make runs all cells, o.parallel at once.
func (m *matrix) make(b bench, o options) {
	type job struct {
		column column
		event  event
		bare   bool
	}
	var jobs []job
	for _, bare := range []bool{false, true} {
		if bare && (o.quick || o.noBare) || !bare && o.onlyBare {
			continue
		}
		for _, e := range m.events {
			for _, c := range m.columns {
				jobs = append(jobs, job{c, e, bare})
			}
		}
	}
	m.results = make([]result, len(jobs))
	var group errgroup.Group
	group.SetLimit(o.parallel)
	for i, j := range jobs {
		group.Go(func() error {
			m.results[i] = b.run(j.column, j.event, j.bare)
			m.progress(m.results[i], o.verbose)
			return nil
		})
	}
	_ = group.Wait() // a fault is a result
}

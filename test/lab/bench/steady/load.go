//go:build linux

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/musterhq/muster/test/suite/kube"
)

//go:embed testdata/gate.h
var gateHeader []byte

//go:embed testdata/allreduce.c
var allreduce []byte

// load is a program that the ranks run.
type load struct {
	key, name string
	workers   int
	launches  int
	// prepare puts the files that line needs into a directory, which is /shared in the pods.
	prepare func(ctx context.Context, dir string) error
	// line returns the arguments that follow mpirun's own, for the job with a name.
	line func(job string) string
	// play runs a launch's slices, and stores their times.
	play func(ctx context.Context, c *compared, launch int, with *arm, gates []*gate) error
	// done stores the times that the programs themselves report after a launch.
	done     func(c *compared, dir string) error
	together int // number of adjacent samples of one launch, which may be correlated; 1: independent
}

func loads(o options) []load {
	return []load{{
		key: "hpl", name: "HPL", workers: 2, launches: o.pairs, prepare: putHPCC, line: hpccLine, play: playHPCC, done: keepHPCC, together: timesOfHPL,
	}, {
		key: "allreduce", name: "allreduce", workers: o.workers, launches: o.launches, prepare: putAllreduce,
		line: func(job string) string { return fmt.Sprintf("/shared/allreduce /shared/%s 1000 %d", job, o.turns) },
		play: func(ctx context.Context, c *compared, launch int, with *arm, gates []*gate) error {
			return c.allot(ctx, o, launch, with, gates)
		},
		done: func(*compared, string) error { return nil }, together: 1,
	}}
}

// share returns the CPU request of each pod. All pods of a job together request most of a processor, so that ranks
// take precedence over other processes of the machine. Both jobs fit on nodes with two processors.
func (l load) share() string { return fmt.Sprintf("%dm", 800/l.workers) }

// putAllreduce builds the loop.
func putAllreduce(ctx context.Context, dir string) error {
	return build(ctx, dir, "allreduce.c", allreduce, "-o", filepath.Join(dir, "allreduce"))
}

// build compiles a program that waits at a gate, on this machine, because the pods have no compiler.
func build(ctx context.Context, dir, name string, text []byte, options ...string) error {
	source := filepath.Join(dir, name)
	if err := errors.Join(os.WriteFile(source, text, 0o644), os.WriteFile(filepath.Join(dir, "gate.h"), gateHeader, 0o644)); err != nil {
		return err
	}
	_, err := kube.Program(ctx, nil, "mpicc.openmpi", append([]string{"-O2", source}, options...)...)
	return err
}

//go:embed testdata/hpccinf.txt
var hpccInput []byte

//go:embed testdata/hpcc.c
var hpccGate []byte

const (
	orderOfHPL = 2000
	timesOfHPL = 12 // number of solutions of the same problem, as set in hpcc's input
)

// hpccLine makes a job's hpcc read and write in a directory of its own, and wait at its gate.
func hpccLine(job string) string {
	return fmt.Sprintf("-wdir /shared/hpl/%s -x LD_LIBRARY_PATH=/shared/hpl -x LD_PRELOAD=/shared/hpl/gate.so -x GATE=/shared/%s -x OTHERS=%d /shared/hpl/hpcc", job, job, 5*timesOfHPL)
}

// putHPCC unpacks Debian's hpcc and its BLAS, so that the images need neither.
func putHPCC(ctx context.Context, dir string) error {
	here := filepath.Join(dir, "hpl")
	if err := os.MkdirAll(here, 0o777); err != nil {
		return err
	}
	get := exec.CommandContext(ctx, "apt-get", "download", "hpcc", "libblas3")
	get.Dir = here
	if said, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("download hpcc: %w: %s", err, bytes.TrimSpace(said))
	}
	packages, err := filepath.Glob(filepath.Join(here, "*.deb"))
	if err != nil {
		return err
	}
	for _, p := range packages {
		if _, err := kube.Program(ctx, nil, "dpkg-deb", "-x", p, filepath.Join(here, "root")); err != nil {
			return err
		}
	}
	blas, err := filepath.Glob(filepath.Join(here, "root/usr/lib/*/blas/libblas.so.3.*"))
	if err != nil || len(blas) != 1 {
		return errors.Join(err, fmt.Errorf("unpack hpcc: %d libraries of BLAS", len(blas)))
	}
	err = errors.Join(
		os.Rename(filepath.Join(here, "root/usr/bin/hpcc"), filepath.Join(here, "hpcc")),
		os.Rename(blas[0], filepath.Join(here, "libblas.so.3")),
		build(ctx, here, "hpcc.c", hpccGate, "-shared", "-fPIC", "-o", filepath.Join(here, "gate.so")),
		os.Chmod(here, 0o755),
	)
	for _, job := range jobs() {
		at := filepath.Join(here, job)
		err = errors.Join(err, os.Mkdir(at, 0o777), os.Chmod(at, 0o777), os.WriteFile(filepath.Join(at, "hpccinf.txt"), hpccInput, 0o644))
	}
	return err
}

// playHPCC lets each job proceed to HPL, then runs one solution of each job in turn.
func playHPCC(ctx context.Context, _ *compared, launch int, _ *arm, gates []*gate) error {
	for _, g := range gates {
		if _, err := g.slice(ctx); err != nil {
			return err
		}
	}
	_, err := block(ctx, launch, timesOfHPL, gates)
	return err
}

// keepHPCC reads HPL's own times from the output files of both jobs, and removes the files.
func keepHPCC(c *compared, dir string) error {
	var times [2][]float64
	for i, job := range jobs() {
		path := filepath.Join(dir, "hpl", job, "hpccoutf.txt")
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if times[i], err = parseHPCC(text); err != nil {
			return fmt.Errorf("%s: %w", job, err)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "steady: HPL with Muster %.3f s, without %.3f s\n", times[0], times[1])
	c.With, c.Without = append(c.With, times[0]...), append(c.Without, times[1]...)
	return nil
}

// hplRates are the lines of HPL's own table: variant, N, NB, P, Q, seconds, Gflops.
var hplRates = regexp.MustCompile(`(?m)^W[RC]\w+\s+2000\s+80\s+1\s+2\s+\S+\s+(\S+)$`)

// parseHPCC computes times from rates: HPL prints four digits of a rate, but only two of half a second.
func parseHPCC(text []byte) (times []float64, err error) {
	found := hplRates.FindAllSubmatch(text, -1)
	if len(found) != timesOfHPL || !bytes.Contains(text, []byte("\nSuccess=1\n")) {
		return nil, fmt.Errorf("hpcc failed: %d of %d solutions", len(found), timesOfHPL)
	}
	const work = orderOfHPL * orderOfHPL * (2*orderOfHPL/3. + 3/2.) / 1e9 // in Gflop, as HPL counts it
	for _, line := range found {
		rate, err := strconv.ParseFloat(string(line[1]), 64)
		if err != nil {
			return nil, err
		}
		times = append(times, work/rate)
	}
	return times, nil
}

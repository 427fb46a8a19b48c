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

	"github.com/musterhq/muster/test/kube"
)

//go:embed testdata/hpccinf.txt
var hpccInput []byte

//go:embed testdata/allreduce.c
var allreduce []byte

// load is what ranks do.
type load struct {
	key, name string
	workers   int
	// prepare puts into a directory, /shared in the pods, what line needs.
	prepare func(ctx context.Context, dir string) error
	argv    string // of mpirun, behind its own words
	// read takes the seconds of each part of a run; nil: the load is the loop, which goes
	// in slices.
	read func(dir string) (seconds []float64, err error)
}

func loads(o options) []load {
	return []load{{
		key: "hpl", name: "HPL", workers: 2, prepare: putHPCC, read: readHPCC,
		argv: "-wdir /shared/hpl -x LD_LIBRARY_PATH=/shared/hpl /shared/hpl/hpcc",
	}, {
		key: "allreduce", name: "allreduce", workers: o.workers, prepare: putAllreduce,
	}}
}

// share is each pod's request: most of a processor for all of a job, so that ranks go before
// whatever else runs on the machine, and both jobs have room on nodes of two.
func (l load) share() string { return fmt.Sprintf("%dm", 800/l.workers) }

// putAllreduce builds the loop: the pods have no compiler.
func putAllreduce(ctx context.Context, dir string) error {
	source := filepath.Join(dir, "allreduce.c")
	if err := os.WriteFile(source, allreduce, 0o644); err != nil {
		return err
	}
	_, err := kube.Program(ctx, nil, "mpicc.openmpi", "-O2", "-o", filepath.Join(dir, "allreduce"), source)
	return err
}

// putHPCC unpacks Debian's hpcc and the BLAS beside it; the images need neither.
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
	return errors.Join(
		os.Rename(filepath.Join(here, "root/usr/bin/hpcc"), filepath.Join(here, "hpcc")),
		os.Rename(blas[0], filepath.Join(here, "libblas.so.3")),
		os.WriteFile(filepath.Join(here, "hpccinf.txt"), hpccInput, 0o644),
		os.Chmod(here, 0o777), // hpcc writes beside its input
	)
}

// hplTimes are the lines of HPL's own table: variant, N, NB, P, Q, seconds, Gflops.
var hplTimes = regexp.MustCompile(`(?m)^W[RC]\w+\s+4000\s+80\s+1\s+2\s+(\S+)\s+\S+$`)

// timesOfHPL is how often hpcc's input has it solve the same problem.
const timesOfHPL = 8

// readHPCC takes HPL's times out of hpcc's file, and the file away.
func readHPCC(dir string) ([]float64, error) {
	path := filepath.Join(dir, "hpl", "hpccoutf.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	times, err := parseHPCC(text)
	return times, errors.Join(err, os.Remove(path))
}

func parseHPCC(text []byte) (times []float64, err error) {
	found := hplTimes.FindAllSubmatch(text, -1)
	if len(found) != timesOfHPL || !bytes.Contains(text, []byte("\nSuccess=1\n")) {
		return nil, fmt.Errorf("hpcc has not succeeded: %d of %d solutions", len(found), timesOfHPL)
	}
	for _, line := range found {
		seconds, err := strconv.ParseFloat(string(line[1]), 64)
		if err != nil {
			return nil, err
		}
		times = append(times, seconds)
	}
	return times, nil
}

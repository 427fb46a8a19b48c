package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// runTime is the time after which a run counts as hung.
const runTime = 90 * time.Second

// result is the result of one run.
type result struct {
	Cell      cell   `json:"cell"`
	Run       int    `json:"run"`
	Transport string `json:"transport"`
	Real      bool   `json:"real_processes"`
	Struck    bool   `json:"struck"` // the fault happened
	Redials   int    `json:"redials"`

	Seconds float64 `json:"seconds"`

	FalseSuccess bool   `json:"false_success"`
	Bytes        bool   `json:"lost_or_doubled_bytes"`
	Launches     int    `json:"launches"`
	Broken       string `json:"broken"` // the session or the link did not survive
	Left         int    `json:"records_left"`
}

func (r result) bad() bool {
	return r.FalseSuccess || r.Bytes || r.Launches != 1 || r.Broken != "" || r.Left > 0
}

// job is one run of a cell.
type job struct {
	cell cell
	n    int
}

// load describes the session of a run.
type load struct {
	seed          uint64
	stdin, stdout int
	code          int
	starts        string // the file to which the child adds a line
}

func newLoad(rng *rand.Rand, dir string) load {
	size := func() int {
		if rng.IntN(20) == 0 {
			return 256<<10 + rng.IntN(1<<20) // sometimes more than a window
		}
		return 1 + rng.IntN(1<<(8+rng.IntN(9)))
	}
	l := load{seed: rng.Uint64(), stdin: size(), stdout: size(), starts: filepath.Join(dir, fmt.Sprintf("starts-%x", rng.Uint64()))}
	if rng.IntN(10) > 0 {
		l.code = 1 + rng.IntN(255)
	}
	return l
}

// noise returns a stream that depends only on seed. The child makes the same stream.
func noise(seed uint64, n int) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}), int64(n))
}

func sum(r io.Reader) string {
	h := sha256.New()
	_, _ = io.Copy(h, r)
	return fmt.Sprintf("%x", h.Sum(nil))
}

func (l load) spec(child string) wire.Spec {
	return wire.Spec{Argv: []string{child, l.starts, fmt.Sprint(l.seed), fmt.Sprint(l.stdout), fmt.Sprint(l.code)}}
}

// run runs one job on r.
func (r *rig) run(j job, seed uint64) (res result) {
	rng := rand.New(rand.NewPCG(seed, j.cell.seed()+uint64(j.n)))
	_, real := r.worker.(*process)
	res = result{Cell: j.cell, Run: j.n, Transport: r.transport, Real: real}
	began := time.Now()
	defer func() { res.Seconds = time.Since(began).Seconds() }()
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	defer cancel()
	what := newLoad(rng, r.dir)
	r.through(j.cell.Leg)
	strike := r.prepare(rng, j.cell, what)
	l := r.link(quick)
	err := r.carry(ctx, l, what, &res)
	if err == nil && strike.await(ctx) == nil {
		res.Struck = true
		err = l.proven(ctx)
	}
	res.Redials = l.State().Redials
	if lost := l.stop(); err == nil {
		err = lost
	}
	if err != nil {
		res.Struck, res.Broken = true, err.Error()
	}
	r.tidy()
	return res
}

// carry runs the session and checks its result.
func (r *rig) carry(ctx context.Context, l *line, what load, res *result) error {
	defer os.Remove(what.starts)
	out, errs := &hashing{h: sha256.New()}, &bytes.Buffer{}
	s, err := l.Open(ctx, "", what.spec(r.yard.child), link.Streams{
		Stdin: io.NopCloser(noise(what.seed+1, what.stdin)), Stdout: out, Stderr: errs})
	if err != nil {
		return err
	}
	rec, err := s.Wait(ctx)
	starts, _ := os.ReadFile(what.starts) // no file: the child did not start
	res.Launches = strings.Count(string(starts), "\n")
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("hung for %s: %w", runTime, l.State().Last)
		}
		// The session's goroutines may still write to out and errs, so do not read them.
		return err
	}
	sameOut := out.n == what.stdout && fmt.Sprintf("%x", out.h.Sum(nil)) == sum(noise(what.seed, what.stdout))
	sameIn := errs.String() == sum(noise(what.seed+1, what.stdin))+"\n"
	res.Bytes = !sameOut || !sameIn || rec.Stdout != uint64(what.stdout)
	res.FalseSuccess = rec.Code == 0 && (what.code != 0 || res.Bytes)
	if w, ok := l.Welcome(); ok {
		for _, id := range w.Sessions {
			if id != s.ID() {
				res.Left++
			}
		}
	}
	switch {
	case rec.Code != what.code:
		return fmt.Errorf("exit code %d, but the process exited with %d: %s", rec.Code, what.code, rec.Error)
	case res.Bytes:
		return fmt.Errorf("%d of %d bytes of stdout, stdin complete: %t", out.n, what.stdout, sameIn)
	case res.Launches != 1:
		return errors.New("the child did not start exactly once")
	}
	return nil
}

type hashing struct {
	h hash.Hash
	n int
}

func (w *hashing) Write(p []byte) (int, error) {
	w.n += len(p)
	return w.h.Write(p)
}

// tidy removes what a run has left on its legs and servers.
func (r *rig) tidy() {
	r.up.Off()
	r.down.Off()
	if r.lan != nil {
		r.lan.fell()
	}
	for i, l := range r.legs {
		if l == nil {
			continue // of another transport
		}
		l.ArmNext(nil)
		l.Cut()
		if i < bridgeLeg {
			r.pod.Refuse(i)
		}
	}
}

// attempts is how often to try a run whose moment does not come.
const attempts = 5

// plan describes the part of the matrix to run.
type plan struct {
	seed  uint64
	cells []cell
	from  int // number of the first run of each cell
	runs  int // of each cell, shared by the transports of its leg
	lanes int
	real  bool
}

// bulk runs the plan with several rigs at a time and returns every run's result.
func (y *yard) bulk(p plan, progress io.Writer) ([]result, error) {
	jobs := map[string]chan job{}
	rng := rand.New(rand.NewPCG(p.seed, 1))
	total := 0
	transports := []string{webSocket, spdy, podNetwork}
	for _, transport := range transports {
		var list []job
		for _, c := range p.cells {
			all := transportsOf(c.Leg)
			for n := range p.runs {
				if all[n%len(all)] == transport {
					list = append(list, job{c, p.from + n})
				}
			}
		}
		rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		jobs[transport] = make(chan job, len(list))
		for _, j := range list {
			jobs[transport] <- j
		}
		close(jobs[transport])
		total += len(list)
	}
	results := make(chan result, p.lanes)
	var lanes sync.WaitGroup
	errs := make([]error, p.lanes)
	rigs := make([]*rig, p.lanes)
	for i := range p.lanes {
		transport := transports[i%len(transports)]
		lanes.Go(func() {
			rigs[i], errs[i] = y.lane(p, fmt.Sprintf("%s%d", map[bool]string{true: "r", false: "l"}[p.real], i), transport, jobs[transport], results)
		})
	}
	go func() {
		lanes.Wait()
		close(results)
	}()
	var all []result
	last := time.Now()
	for res := range results {
		all = append(all, res)
		if time.Since(last) > 15*time.Second {
			last = time.Now()
			fmt.Fprintf(progress, "  %d of %d runs\n", len(all), total)
		}
	}
	errs = append(errs, y.procs.endSessions())
	for _, r := range rigs {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return all, errors.Join(errs...)
}

// lane runs jobs on one rig. The caller closes the rig.
func (y *yard) lane(p plan, name, transport string, jobs <-chan job, results chan<- result) (*rig, error) {
	r, err := y.newRig(name, transport, p.real)
	if err != nil {
		return nil, err
	}
	if err := r.warm(); err != nil {
		return r, err
	}
	for j := range jobs {
		var res result
		for try := range attempts {
			res = r.run(job{j.cell, j.n + try<<20}, p.seed)
			if res.Struck || res.bad() {
				break
			}
		}
		results <- res
	}
	return r, nil
}

// warm connects once, so that the protocol of the server is known.
func (r *rig) warm() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l := r.link(nil)
	err := l.proven(ctx)
	return errors.Join(err, l.stop())
}

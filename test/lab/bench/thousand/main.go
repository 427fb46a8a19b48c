//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// options holds the flags of the command line.
type options struct {
	bin, only string
	sizes     measure.Sizes // ascending
	rounds    int
	hold      time.Duration // in the first round; at most brief in the others
	seconds   int           // of output
}

// brief is a hold that only checks that no link breaks.
const brief = 5 * time.Second

func main() {
	log.SetLogger(logr.Discard()) // silences controller-runtime
	klog.SetLogger(logr.Discard())
	if len(os.Args) != 3 || os.Args[1] != farmVerb {
		program.Main("thousand", play)
		return
	}
	if err := farmMain(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "thousand: "+err.Error())
		os.Exit(1)
	}
}

func read() (o options, err error) {
	flag.StringVar(&o.bin, "bin", "bin", "use the agent's binaries in `DIR`")
	flag.StringVar(&o.only, "only", "", "measure only scale or output [both]")
	o.sizes = measure.Sizes{100, 300, 1000}
	flag.Var(&o.sizes, "workers", "launch `N,N` workers")
	flag.IntVar(&o.rounds, "rounds", 7, "measure scale `N` times, output half as often")
	flag.DurationVar(&o.hold, "hold", time.Minute, "hold the job for this `TIME` in the first round; 5s in the others")
	flag.IntVar(&o.seconds, "seconds", 30, "print for `N` seconds")
	flag.Parse()
	slices.Sort(o.sizes)
	o.sizes = slices.Compact(o.sizes)
	if o.only != "" && o.only != "scale" && o.only != "output" {
		return o, fmt.Errorf("-only=%s: use scale or output", o.only)
	}
	return o, nil
}

func play(ctx context.Context) (err error) {
	o, err := read()
	if err != nil {
		return err
	}
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	w, err := newWorld(o.bin)
	if w != nil {
		defer func() { err = errors.Join(err, w.Close()) }()
	}
	if err != nil {
		return err
	}
	began := time.Now()
	if w.pod, err = w.Build(ctx, "bench/thousand/pod"); err != nil {
		return err
	}
	if err := w.certify(ctx); err != nil {
		return err
	}
	w.Say("creating %d pods", o.most())
	if err := w.populate(ctx, o.sizes, o.most(), filepath.Join(dir, "raw", "bench-thousand-kwok.log")); err != nil {
		return err
	}
	if _, err := audit.Since(w.Audit, began); err != nil {
		return fmt.Errorf("%w; test/lab/cluster up starts an API server that writes an audit log", err)
	}
	var notes []string
	if notes, err = w.notes(ctx); err != nil {
		return err
	}
	var missed error // missed bars: the measurements are recorded, and the rest is still measured
	if o.only != "output" {
		all, err := w.scale(ctx, o)
		if err != nil {
			return err
		}
		missed = recordScale(o, all, notes)
	}
	if o.only != "scale" {
		outputs, err := w.outputs(ctx, o)
		if err != nil {
			return errors.Join(missed, err)
		}
		missed = errors.Join(missed, recordOutput(outputs, o, notes))
	}
	return missed
}

func (o options) most() int { return o.sizes[len(o.sizes)-1] }

// turn returns the sizes of a round. The fewest workers come before and after the others, because
// short launches vary most.
func (o options) turn() []int {
	if len(o.sizes) == 1 {
		return o.sizes
	}
	return append(slices.Clone(o.sizes), o.sizes[0])
}

// scale runs the sizes in turn, o.rounds times. First it runs the largest size once without counting it, so that this
// machine's memory has been used before. On a virtual machine, the first access to a page is slow.
func (w *world) scale(ctx context.Context, o options) (all []run, err error) {
	r, err := w.hold(ctx, o.most(), brief)
	if err != nil {
		return nil, fmt.Errorf("%d workers, not counted: %w", o.most(), err)
	}
	w.Say("%d workers, not counted: %+v", o.most(), r)
	for round := range o.rounds {
		for _, size := range o.turn() {
			span := o.hold
			if round > 0 {
				span = min(brief, span)
			}
			r, err := w.hold(ctx, size, span)
			if err != nil {
				return nil, fmt.Errorf("%d workers: %w", size, err)
			}
			w.Say("%d workers: %+v", size, r)
			all = append(all, r)
		}
	}
	return all, nil
}

// outputs runs the output of the most ranks several times, and once with real workers.
func (w *world) outputs(ctx context.Context, o options) (all []outcome, err error) {
	rounds := (o.rounds + 1) / 2
	for round := range rounds + 1 {
		one, err := w.output(ctx, o.most(), o.seconds, round < rounds)
		if err != nil {
			return nil, fmt.Errorf("output of %d ranks: %w", o.most(), err)
		}
		w.Say("%+v", one)
		all = append(all, one)
	}
	return all, nil
}

const (
	space   = "bench-thousand"
	account = "launcher"
)

// world is the cluster, with the processes and objects that the benchmark created.
type world struct {
	*measure.World
	bin      string // directory of the agent's programs
	pod      string // program that runs in the pods
	listener *os.File
	kubelet  *net.TCPAddr
	pair     pair
	access   string // kubeconfig for the launcher
}

// newWorld connects to the cluster, and listens on the API server's address.
func newWorld(bin string) (w *world, err error) {
	m, err := measure.New("thousand")
	if err != nil {
		return nil, err
	}
	w = &world{World: m}
	if w.bin, err = filepath.Abs(bin); err != nil {
		return w, err
	}
	at, err := url.Parse(w.Config.Host)
	if err != nil {
		return w, fmt.Errorf("read the API server's address: %w", err)
	}
	ln, err := net.Listen("tcp4", net.JoinHostPort(at.Hostname(), "0"))
	if err != nil {
		return w, fmt.Errorf("listen on the API server's address (it must be an address of this machine): %w", err)
	}
	defer ln.Close()
	w.kubelet = ln.Addr().(*net.TCPAddr)
	w.listener, err = ln.(*net.TCPListener).File()
	return w, err
}

// admit creates an account for the launcher with the rights of the Role in test/e2e/manifests/pi.yaml, and a
// kubeconfig with its token.
func (w *world) admit(ctx context.Context, workers int) error {
	w.Later("remove namespace", func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, space, nil, "delete", "namespace", space, "--ignore-not-found", "--timeout=3m")
		return err
	})
	if err := kube.Open(ctx, space, "muster.dev/bench"); err != nil {
		return err
	}
	if err := kube.Apply(ctx, space, kube.Access(account, podNames(workers))...); err != nil {
		return err
	}
	var err error
	w.access, err = w.Access(ctx, space, account, "2h")
	return err
}

// write writes v as JSON to a file for another process.
func (w *world) write(name string, v any) (path string, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	path = filepath.Join(w.Dir, name)
	return path, os.WriteFile(path, text, 0o600)
}

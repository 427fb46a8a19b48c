//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// options holds the flags of the command line.
type options struct {
	sizes, ready []int
	rounds       int
	only         []string // contenders; none: all
}

func main() { program.Main("launch", run) }

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
	sizes := flags.String("workers", "2,20,60", "launch on `SIZES` workers")
	ready := flags.String("ready", "60", "`SIZES` of the second table, with new workers each time; \"\": none")
	only := flags.String("only", "", "run only this `LIST` of contenders ["+strings.Join(names(), ",")+"]")
	flags.IntVar(&o.rounds, "rounds", 4, "run `N` rounds of the first table after the warm-up, and at most 3 of the second")
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
			return nil, fmt.Errorf("invalid number of workers: %q", word)
		}
		all = append(all, n)
	}
	return all, nil
}

// takes reports whether a contender was selected.
func (o options) takes(name string) bool { return len(o.only) == 0 || slices.Contains(o.only, name) }

// world is the cluster and the objects that the benchmark created in it.
type world struct {
	*measure.World
	ns        string
	launchers map[string]container // by pod
}

// prepare creates the namespace and the launchers, and copies the programs into them.
func (w *world) prepare(ctx context.Context) error {
	path, err := w.Build(ctx, "bench/launch/inpod")
	if err != nil {
		return err
	}
	inpod, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kubectl, err := os.ReadFile(kube.Path())
	if err != nil {
		return fmt.Errorf("read kubectl: %w", err)
	}
	w.Later("remove namespace", func(ctx context.Context) error {
		_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "namespace", w.ns, "--ignore-not-found", "--timeout=150s")
		return err
	})
	if err := kube.Open(ctx, w.ns, "muster.dev/bench"); err != nil {
		return err
	}
	keys, err := sshKeys()
	if err != nil {
		return err
	}
	objects := append(rights(), keys)
	pods := []string{kubexecPod, slowPod, sshPod, musterPod, floorPod}
	for _, name := range pods {
		objects = append(objects, launcher(name))
	}
	if err := kube.Apply(ctx, w.ns, objects...); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s"); err != nil {
		return err
	}
	if w.launchers, err = containers(pods); err != nil {
		return err
	}
	for _, c := range w.launchers {
		if err := errors.Join(put(c.path("/bench/inpod"), inpod), put(c.path("/opt/kube/kubectl"), kubectl)); err != nil {
			return err
		}
	}
	return w.slowDNS(ctx)
}

// lookup is the delay of the slow DNS. mpirun looks up each name three times.
const lookup = time.Second / 2 / 3

// slowDNS makes the launcher slowPod use a DNS server in the floor's launcher.
func (w *world) slowDNS(ctx context.Context) error {
	address, err := kube.Kubectl(ctx, w.ns, nil, "get", "pod", floorPod, "-o", "jsonpath={.status.podIP}")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	server := w.launchers[floorPod].enter(serving, "exec /bench/inpod dns -after "+lookup.String())
	if err := server.Start(); err != nil {
		stop()
		return fmt.Errorf("start DNS: %w", err)
	}
	w.Later("stop the DNS", func(context.Context) error {
		stop()
		_ = server.Wait() // nsenter; the server itself ends with its pod
		return nil
	})
	path := w.launchers[slowPod].path("/etc/resolv.conf")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^nameserver .*`).ReplaceAll(text, []byte("nameserver "+address))
	return os.WriteFile(path, text, 0o644)
}

// put writes a program to path.
func put(path string, program []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, program, 0o755)
}

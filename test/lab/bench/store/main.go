//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	_ "embed"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/program"
)

//go:embed store.py
var storeScript []byte

//go:embed collective.py
var collectiveScript []byte

// options holds the flags of the command line.
type options struct {
	bin            string
	clients, ranks measure.Sizes
	rounds         int
	spread         float64
}

// world is where the scripts run.
type world struct {
	options
	dir     string // has the scripts
	python  string
	machine string
}

func main() { program.Main("store", run) }

func run(ctx context.Context) (err error) {
	o := options{clients: measure.Sizes{1000, 3000, 10000}, ranks: measure.Sizes{2, 8, 16}}
	flag.StringVar(&o.bin, "bin", "bin", "run the agent in `DIR`")
	flag.Var(&o.clients, "clients", "connect `N,N` clients to the store")
	flag.Var(&o.ranks, "ranks", "start `N,N` ranks")
	flag.IntVar(&o.rounds, "rounds", 3, "measure each row `N` times")
	flag.Float64Var(&o.spread, "spread", 20, "spread 10,000 clients over `SECONDS`, and fewer over less")
	flag.Parse()
	venv, err := program.Venv(ctx, "torch")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-store")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := world{options: o, dir: dir, python: filepath.Join(venv, "bin", "python3"),
		machine: fmt.Sprintf("store, clients and ranks share one machine of %d cores", runtime.NumCPU())}
	for name, text := range map[string][]byte{"store.py": storeScript, "collective.py": collectiveScript, "nsswitch.conf": []byte("hosts: files\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return errors.Join(w.stores(ctx), w.collectives(ctx))
}

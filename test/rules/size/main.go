//go:build linux

// Command size measures what the binaries cost: bytes, start-up, memory, and the packages that they link
// (test/rules/linked has those budgets). It measures the binaries that the Makefile has built in bin. It writes the
// raw numbers to raw/size.json and a row for each figure to SUITE.json (see test/suite/figure), and prints them. It
// exits with 1 if a figure misses its bar.
//
// Times are wall clock from before fork to the event. Their bars are ratios: each start of the agent is followed by
// one of command floor, so that a slow machine misses no bar. Each measured process runs from a copy of the binary
// that no other process executes, so that it shares its memory with no other process.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/musterhq/muster/test/rules/linked"
	"github.com/musterhq/muster/test/suite/figure"
)

const runs = 50

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "size: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	bin := flag.String("bin", "", "directory of the binaries; default: bin of the module")
	flag.Parse()
	if *bin == "" {
		root, err := figure.Root()
		if err != nil {
			return err
		}
		*bin = filepath.Join(root, "bin")
	}
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	agent := filepath.Join(dir, "agent")
	if err := copyBinary(filepath.Join(*bin, "agent"), agent); err != nil {
		return fmt.Errorf("%w (build it first: make build)", err)
	}
	raw, err := measure(agent, *bin, dir)
	if err != nil {
		return err
	}
	more, err := links(raw)
	if err != nil {
		return err
	}
	return figure.Report("make size", "size", raw, append(bars(), more...)...)
}

func measure(agent, bin, dir string) (map[string]figure.Series, error) {
	raw, built := map[string]figure.Series{}, filepath.Join(bin, "agent")
	for key, path := range map[string]string{"agent": built, "launcher": filepath.Join(bin, "agent-launcher"), "exporter": filepath.Join(bin, "agent-exporter"), "controller": filepath.Join(bin, "controller")} {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		raw[key] = figure.Series{Unit: "bytes", Samples: []float64{float64(info.Size())}, Reduce: "last"}
	}
	floor, err := buildFloor(dir)
	if err != nil {
		return nil, err
	}
	if raw["start"], err = startTimes(agent, floor); err != nil {
		return nil, err
	}
	if raw["handover"], err = startTimes(built, floor); err != nil {
		return nil, err
	}
	if raw["stub_start"], raw["stub_rss"], raw["stub_peak"], err = stubs(agent, floor, filepath.Join(dir, "stub")); err != nil {
		return nil, err
	}
	// In one of a hundred stubs, a late look of the runtime at a page makes Linux map a large folio of the program
	// again, which is 1.1 MB.
	most := raw["stub_rss"]
	most.Reduce = "max"
	raw["stub_rss_most"] = most
	for _, key := range []string{"start", "stub_start"} {
		over := raw[key]
		over.Unit, over.Reduce = "", "ratio"
		raw[key+"_over_floor"] = over
	}
	if raw["pss"], err = idle(agent, filepath.Join(dir, "worker")); err != nil {
		return nil, err
	}
	raw["launcher_pss"], err = launcherIdle(filepath.Join(bin, "agent-launcher"), filepath.Join(dir, "launcher"))
	return raw, err
}

func bars() []figure.Row {
	return []figure.Row{
		{Name: "agent binary", Log: "agent", Op: "<=", Bar: 6 << 20},
		{Name: "agent start, version", Log: "start"},
		{Name: "agent start, version, over the floor's start", Log: "start_over_floor", Op: "<=", Bar: 1.5},
		{Name: "agent start, version handed to agent-launcher", Log: "handover"},
		{Name: "PID 1 + attach with one idle link, PSS", Log: "pss", Op: "<=", Bar: 8e6},
		{Name: "agent-launcher binary", Log: "launcher", Op: "<=", Bar: 30e6},
		{Name: "stub start, to its request sent", Log: "stub_start"},
		{Name: "stub start, to its request sent, over the floor's", Log: "stub_start_over_floor", Op: "<=", Bar: 1.25},
		{Name: "stub RSS, while it waits", Log: "stub_rss", Op: "<=", Bar: 2e6},
		{Name: "stub RSS, while it waits, most of all stubs", Log: "stub_rss_most"},
		{Name: "stub RSS, peak while it starts", Log: "stub_peak"},
		{Name: "agent-launcher, its worker linked and its command waiting, PSS", Log: "launcher_pss", Op: "<=", Bar: 19e6},
		{Name: "agent-exporter binary", Log: "exporter", Op: "<=", Bar: 14.6e6},
		{Name: "controller binary", Log: "controller", Op: "<=", Bar: 40e6},
	}
}

// buildFloor builds command floor with the flags of `make build`.
func buildFloor(dir string) (string, error) {
	root, err := figure.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "floor")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./test/rules/size/floor")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build floor: %w\n%s", err, out)
	}
	return path, nil
}

func copyBinary(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// links counts what each binary links. The bars are those of test/rules.
func links(raw map[string]figure.Series) (rows []figure.Row, err error) {
	count := func(name, key, unit string, n, most int) {
		raw[key] = figure.Series{Unit: unit, Samples: []float64{float64(n)}, Reduce: "last"}
		rows = append(rows, figure.Row{Name: name, Log: key, Op: "<=", Bar: float64(most)})
	}
	for _, b := range linked.Binaries() {
		found, err := b.Look()
		if err != nil {
			return nil, err
		}
		for _, breach := range found.Breaches {
			fmt.Fprintln(os.Stderr, "size: "+breach)
		}
		count(b.Name+": packages linked", b.Name+"_packages", "packages", found.Packages, b.Packages)
		count(b.Name+": modules linked", b.Name+"_modules", "modules", found.Modules, b.Modules)
		count(b.Name+": packages linked that it may not link", b.Name+"_forbidden", "packages", len(found.Breaches), 0)
	}
	return rows, nil
}

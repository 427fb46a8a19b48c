//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// way is how clients meet a store.
type way struct {
	name    string
	backend string
	spread  bool // over the seconds of a launch
}

func ways() []way {
	return []way{
		{"one thread and poll, all at once", "threads", false},
		{"libuv, all at once", "libuv", false},
		{"libuv, over a launch", "libuv", true},
	}
}

// joined is what store.py printed.
type joined struct {
	Joined  int
	Seconds float64 // from the first client's start to the last one's end
	CPU     float64 // of the store, in seconds
	Grown   float64 // memory of the store, in bytes
}

// stores measures the store, and saves the table "store".
func (w world) stores(ctx context.Context) error {
	t := report.Table{Name: "store", Title: "PyTorch's TCPStore: the last client has the first rank's id", Order: 64, Over: "clients", Command: "make bench-store", Drawn: []int{0, 1},
		Columns: []report.Column{{Name: "since the last client came", Unit: "s"}, {Name: "the store's CPU", Unit: "s"}, {Name: "the store's memory for them", Unit: "MB"}},
		Notes: []string{w.machine + ". Clients are threads of 20 processes, and ask no name server.",
			fmt.Sprintf("Over a launch: %g s for 10,000 clients, and fewer in proportion.", w.spread)}}
	for _, n := range w.clients {
		for _, way := range ways() {
			row := report.Row{Name: way.name, Size: n, Cells: make([][]float64, len(t.Columns))}
			for range w.rounds {
				spread := 0.0
				if way.spread {
					spread = w.spread * float64(n) / 10_000
				}
				j, err := w.store(ctx, n, way.backend, spread)
				if err != nil {
					return fmt.Errorf("%d clients, %s: %w", n, way.name, err)
				}
				for i, sample := range []float64{j.Seconds - spread, j.CPU, j.Grown / 1e6} {
					row.Cells[i] = append(row.Cells[i], sample)
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	fmt.Println(t.Text())
	return report.Save(t)
}

// store runs store.py once.
func (w world) store(ctx context.Context, clients int, backend string, spread float64) (j joined, err error) {
	// PyTorch looks up the name of each connection's other end, and waits if nobody answers.
	const withoutDNS = `mount --bind "$0" /etc/nsswitch.conf && exec "$@"`
	cmd := exec.CommandContext(ctx, "sh", "-c", withoutDNS, filepath.Join(w.dir, "nsswitch.conf"), w.python, filepath.Join(w.dir, "store.py"),
		fmt.Sprint("--clients=", clients), "--backend="+backend, fmt.Sprint("--spread=", spread))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil {
		return j, err
	}
	for line := range bytes.Lines(out) {
		if err := json.Unmarshal(line, &j); err != nil {
			return j, fmt.Errorf("read %q: %w", line, err)
		}
	}
	if j.Joined != clients {
		return j, fmt.Errorf("%d clients joined", j.Joined)
	}
	return j, nil
}

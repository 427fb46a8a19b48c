//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// steps returns what ranks say, in this order.
func steps() []string { return []string{"begun", "imported", "joined", "reduced"} }

// collectives measures the first collective, and saves the table "collective".
func (w world) collectives(ctx context.Context) error {
	t := report.Table{Name: "collective", Title: "From the launcher's start to the first all-reduce", Order: 66, Over: "ranks", Command: "make bench-store", Drawn: []int{0, 3},
		Columns: []report.Column{{Name: "last first line", Unit: "s"}, {Name: "last import of torch", Unit: "s"}, {Name: "last process group", Unit: "s"}, {Name: "last all-reduce", Unit: "s"}},
		Notes:   []string{w.machine + ". Fake workers, one rank each, gloo."}}
	for _, n := range w.ranks {
		row := report.Row{Name: "agent run --fake", Size: n, Cells: make([][]float64, len(t.Columns))}
		for range w.rounds {
			took, err := w.collective(ctx, n)
			if err != nil {
				return fmt.Errorf("%d ranks: %w", n, err)
			}
			for i, d := range took {
				row.Cells[i] = append(row.Cells[i], d.Seconds())
			}
		}
		t.Rows = append(t.Rows, row)
	}
	fmt.Println(t.Text())
	return report.Save(t)
}

// collective runs one job, and returns when the last rank had taken each step.
func (w world) collective(ctx context.Context, ranks int) ([]time.Duration, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, "agent"), "run", fmt.Sprint("--fake=", ranks), "--framework=torch", "--",
		w.python, filepath.Join(w.dir, "collective.py"))
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	took, err := lasts(out, ranks, func() time.Duration { return time.Since(began) })
	return took, errors.Join(err, cmd.Wait())
}

// lasts reads the lines of ranks, and returns what the clock showed at the last line about each step.
func lasts(out io.Reader, ranks int, clock func() time.Duration) ([]time.Duration, error) {
	at, said := map[string]time.Duration{}, map[string]int{}
	sum := fmt.Sprint(ranks * (ranks + 1) / 2)
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		_, words, _ := strings.Cut(scan.Text(), "step ")
		step := strings.Fields(words)
		if len(step) < 2 || step[0] == "reduced" && (len(step) < 3 || step[2] != sum) {
			return nil, fmt.Errorf("unexpected line %q", scan.Text())
		}
		at[step[0]] = clock()
		said[step[0]]++
	}
	var took []time.Duration
	for _, step := range steps() {
		if said[step] != ranks {
			return nil, fmt.Errorf("%d of %d ranks have %s", said[step], ranks, step)
		}
		took = append(took, at[step])
	}
	return took, scan.Err()
}

//go:build linux

// Package table is the main program of suites that run rows one after the other on a
// cluster: its flags, its table, its exit code.
package table

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// Row is a test on a cluster.
type Row struct {
	Key  string // name on the command line
	What string
	// Play runs the test, and removes everything that it created. out is the directory of the
	// figures; seen is for the table.
	Play func(ctx context.Context, out string) (seen []string, err error)
}

// Program is a number of rows.
type Program struct {
	Name  string
	Rows  []Row
	Alone bool                        // needs no cluster
	Build func(context.Context) error // builds what the rows need; takes minutes the first time
	Begin func(context.Context) error // runs before the first row
	End   func(context.Context) error // runs after the last row, also after an error; nil: nothing
}

// Main runs the rows that the command line selects. The exit code is 1 if a row
// fails.
func (p Program) Main() { program.Main(p.Name, p.run) }

func (p Program) run(ctx context.Context) error {
	only := flag.String("rows", "", "run only these `ROWS`, separated by commas [all]")
	list := flag.Bool("list", false, "list the rows")
	build := flag.Bool("build", false, "only build what the rows need")
	flag.Parse()
	chosen := slices.DeleteFunc(slices.Clone(p.Rows), func(r Row) bool {
		return !Asked(*only, r.Key)
	})
	switch {
	case len(chosen) == 0:
		return fmt.Errorf("-rows=%s: no such row; -list lists all rows", *only)
	case *list:
		for _, r := range chosen {
			fmt.Printf("%-14s %s\n", r.Key, r.What)
		}
		return nil
	}
	if !p.Alone {
		if err := kube.Cluster("MUSTER_CLUSTER"); err != nil {
			return err
		}
	}
	if err := p.Build(ctx); err != nil || *build {
		return err
	}
	return p.play(ctx, chosen)
}

// Asked reports whether a row is one of keys, or is below one of them, as a/b is below a. Without keys every row
// is selected. Commas separate keys.
func Asked(keys, row string) bool {
	return keys == "" || slices.ContainsFunc(strings.Split(keys, ","), func(key string) bool {
		return row == key || strings.HasPrefix(row, key+"/")
	})
}

func (p Program) play(ctx context.Context, chosen []Row) (err error) {
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(out, "raw"), 0o755); err != nil {
		return err
	}
	if p.End != nil {
		defer func() { err = errors.Join(err, p.End(context.WithoutCancel(ctx))) }()
	}
	if err := p.Begin(ctx); err != nil {
		return err
	}
	var failed []string
	for _, r := range chosen {
		began := time.Now()
		seen, err := r.Play(ctx, out)
		verdict := "pass"
		if err = errors.Join(err, ctx.Err()); err != nil {
			verdict, failed = "FAIL", append(failed, r.Key)
		}
		fmt.Printf("%-14s %s  %3.0f s  %s\n", r.Key, verdict, time.Since(began).Seconds(), strings.Join(seen, "; "))
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", p.Name, r.Key, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("rows failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

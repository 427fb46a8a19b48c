package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/suite/figure"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "crds: "+err.Error())
		os.Exit(1)
	}
}

func newReader(text string) io.Reader { return strings.NewReader(text) }

func run() error {
	list := flag.Bool("list", false, "print every field with what became of it")
	flag.Parse()
	root, err := figure.Root()
	if err != nil {
		return err
	}
	raw := map[string]figure.Series{}
	if err := fields(filepath.Join(root, "test", "lab"), *list, raw); err != nil {
		return err
	}
	if err := manifests(filepath.Join(root, "agent", "kubeflow", "testdata"), raw); err != nil {
		return err
	}
	if err := examples(filepath.Join(root, "test", "lab"), raw); err != nil {
		return err
	}
	if err := code(filepath.Join(root, "agent", "kubeflow"), raw); err != nil {
		return err
	}
	return record(raw)
}

// fields walks every kind.
func fields(test string, list bool, raw map[string]figure.Series) error {
	var walkedAll, neitherAll []float64
	fmt.Printf("%-32s %7s %7s %7s %7s\n", "kind", "fields", "carried", "named", "neither")
	for _, s := range subjects() {
		all, err := s.walk(test)
		if err != nil {
			return err
		}
		count := map[fate]int{}
		for _, w := range all {
			count[w.fate]++
			if list || w.fate == neither {
				fmt.Fprintf(os.Stderr, "%s: %s: %s\n", s.name, w.field, w.fate)
			}
		}
		fmt.Printf("%-32s %7d %7d %7d %7d\n", s.name, len(all), count[carried], count[named], count[neither])
		walkedAll, neitherAll = append(walkedAll, float64(len(all))), append(neitherAll, float64(count[neither]))
	}
	raw["walked"] = figure.Series{Unit: "fields", Samples: walkedAll, Reduce: "sum"}
	raw["neither"] = figure.Series{Unit: "fields", Samples: neitherAll, Reduce: "sum"}
	return nil
}

// record writes the rows.
func record(raw map[string]figure.Series) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	log, err := figure.WriteRaw(dir, "crds", raw)
	if err != nil {
		return err
	}
	var missed error
	for _, row := range []figure.Row{
		{Name: "fields of the kinds' CRDs that convert neither carries nor names", Log: log + "#neither", Op: "==", Bar: 0},
		{Name: "fields of the kinds' CRDs that were walked", Log: log + "#walked"},
		{Name: "manifests in agent/kubeflow/testdata that do not convert", Log: log + "#refused", Op: "==", Bar: 0},
		{Name: "manifests in agent/kubeflow/testdata", Log: log + "#manifests", Op: ">=", Bar: 30},
		{Name: "example jobs of the kinds' own projects", Log: log + "#examples"},
		{Name: "of these, jobs that do not convert and say no way out", Log: log + "#stuck", Op: "==", Bar: 0},
		{Name: "hand-written code per kind, median", Log: log + "#lines"},
	} {
		row.Command = "make convert"
		row, err := figure.Record(dir, row)
		if err != nil {
			return err
		}
		if !row.Pass {
			missed = errors.Join(missed, fmt.Errorf("%s: %v misses %s %v", row.Name, row.Value, row.Op, row.Bar))
		}
	}
	return missed
}

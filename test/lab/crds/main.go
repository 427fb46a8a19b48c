package main

import (
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
	return figure.Report("make convert", "crds", raw,
		figure.Row{Name: "fields of the kinds' CRDs that convert neither carries nor names", Log: "neither", Op: "==", Bar: 0},
		figure.Row{Name: "fields of the kinds' CRDs that were walked", Log: "walked"},
		figure.Row{Name: "manifests in agent/kubeflow/testdata that do not convert", Log: "refused", Op: "==", Bar: 0},
		figure.Row{Name: "manifests in agent/kubeflow/testdata", Log: "manifests", Op: ">=", Bar: 30},
		figure.Row{Name: "example jobs of the kinds' own projects", Log: "examples"},
		figure.Row{Name: "of these, jobs that do not convert and say no way out", Log: "stuck", Op: "==", Bar: 0},
		figure.Row{Name: "hand-written code per kind, median", Log: "lines"})
}

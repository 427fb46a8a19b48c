package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/kubeflow"
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
	list := flag.Bool("list", false, "print every field with what the conversion does with it")
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

// fields walks all kinds.
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

// record records the figures.
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

// manifests converts the manifests in testdata of agent/kubeflow.
func manifests(dir string, raw map[string]figure.Series) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	refused := 0.0
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		docs, err := kubeflow.Read(in)
		in.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, d := range docs {
			if d.Known() && kubeflow.Convert(d.Object, kubeflow.Options{Runtimes: kubeflow.Runtimes(docs)}).Job == nil {
				fmt.Fprintf(os.Stderr, "%s: %s does not convert\n", file, d.ID())
				refused++
			}
		}
	}
	raw["manifests"] = figure.Series{Unit: "manifests", Samples: []float64{float64(len(files))}, Reduce: "last"}
	raw["refused"] = figure.Series{Unit: "jobs", Samples: []float64{refused}, Reduce: "last"}
	fmt.Printf("\n%d manifests; %g of their jobs do not convert\n", len(files), refused)
	return nil
}

// code counts the lines of each kind's own files: those whose name is the kind or starts with it.
func code(dir string, raw map[string]figure.Series) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	own := []string{"mpijob_v1alpha1", "mpijob_v1alpha2", "mpijob_v1", "mpijob_v2beta1", "pytorchjob", "tfjob", "xgboostjob", "paddlejob", "mxjob", "jaxjob", "trainjob", "volcano"}
	lines := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".go")
		if strings.HasSuffix(name, "_test") {
			continue
		}
		kind := "shared"
		if at := slices.IndexFunc(own, func(k string) bool {
			return name == k || strings.HasPrefix(name, k+"_") && !strings.HasPrefix(name, "mpijob")
		}); at >= 0 {
			kind = own[at]
		}
		lines[kind] += bytes.Count(text, []byte("\n"))
	}
	var samples []float64
	for _, kind := range append(own, "shared") {
		fmt.Printf("%-18s %4d lines\n", kind, lines[kind])
		if kind != "shared" {
			samples = append(samples, float64(lines[kind]))
		}
	}
	raw["lines"] = figure.Series{Unit: "lines", Samples: samples, Reduce: "median"}
	return nil
}

// examples converts the projects' own example manifests. If one
// does not convert, the error must say what to do.
func examples(test string, raw map[string]figure.Series) error {
	jobs, refused, stuck := 0.0, 0.0, 0.0
	for _, s := range []source{
		{pin: "kubeflow", module: "github.com/kubeflow/training-operator"}, {pin: "kubeflow/jax", module: "github.com/kubeflow/training-operator"},
		{pin: "crds/pinned", module: "github.com/kubeflow/mpi-operator"}, {pin: "crds/pinned", module: "github.com/kubeflow/trainer/v2"},
		{pin: "gang/volcano", module: "volcano.sh/volcano"},
	} {
		dir, err := s.dir(test)
		if err != nil {
			return err
		}
		docs, err := documentsBelow(dir)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if !d.Known() {
				continue
			}
			jobs++
			if r := kubeflow.Convert(d.Object, kubeflow.Options{Runtimes: kubeflow.Runtimes(docs)}); r.Job == nil {
				refused++
				wrong := slices.DeleteFunc(r.Findings, func(f kubeflow.Finding) bool { return !f.Fatal })
				if !slices.ContainsFunc(wrong, func(f kubeflow.Finding) bool { return f.Way != "" }) {
					stuck++
				}
				fmt.Fprintf(os.Stderr, "%s: %s: %s: %s (%s)\n", s.module, d.ID(), wrong[0].Field, wrong[0].Text, wrong[0].Way)
			}
		}
	}
	fmt.Printf("%g of the projects' own example jobs: %g do not convert, %g of these without a hint\n\n", jobs, refused, stuck)
	raw["examples"] = figure.Series{Unit: "jobs", Samples: []float64{jobs}, Reduce: "last"}
	raw["refusedExamples"] = figure.Series{Unit: "jobs", Samples: []float64{refused}, Reduce: "last"}
	raw["stuck"] = figure.Series{Unit: "jobs", Samples: []float64{stuck}, Reduce: "last"}
	return nil
}

// documentsBelow reads every manifest below a directory. It skips templates of Helm and the like,
// which are not YAML.
func documentsBelow(dir string) (all []kubeflow.Document, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		in, err := os.Open(path) //nolint:gosec // G122: nobody else writes there
		if err != nil {
			return err
		}
		defer in.Close()
		if docs, err := kubeflow.Read(in); err == nil {
			all = append(all, docs...)
		}
		return nil
	})
	return all, err
}

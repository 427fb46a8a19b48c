package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/kubeflow"
	"github.com/musterhq/muster/test/suite/figure"
)

// manifests converts those that are written for it.
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
	fmt.Printf("\n%d manifests, %g jobs of them do not convert\n", len(files), refused)
	return nil
}

// code counts the lines of each kind's own files: named after it, or beginning so.
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

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/kubeflow"
	"github.com/musterhq/muster/test/suite/figure"
)

// examples converts the manifests that the projects themselves give as examples. One
// that does not convert has to say what to do.
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
	fmt.Printf("%g example jobs of the projects' own, %g do not convert, %g of them without a way out\n\n", jobs, refused, stuck)
	raw["examples"] = figure.Series{Unit: "jobs", Samples: []float64{jobs}, Reduce: "last"}
	raw["refusedExamples"] = figure.Series{Unit: "jobs", Samples: []float64{refused}, Reduce: "last"}
	raw["stuck"] = figure.Series{Unit: "jobs", Samples: []float64{stuck}, Reduce: "last"}
	return nil
}

// documentsBelow reads every manifest of a directory; templates of Helm and the like
// are no YAML, and are passed over.
func documentsBelow(dir string) (all []kubeflow.Document, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		in, err := os.Open(path)
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

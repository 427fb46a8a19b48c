// Package example reads the folders of examples: the objects that kustomize builds, and
// the commands and expected output in their READMEs.
package example

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/musterhq/muster/test/suite/page"
)

// Build returns the objects that kubectl apply -k would create for a folder.
func Build(dir string) ([]*unstructured.Unstructured, error) {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	var all []*unstructured.Unstructured
	for _, r := range made.Resources() {
		text, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", dir, err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("build %s: %w", dir, err)
		}
		all = append(all, object)
	}
	return all, nil
}

// Readme is the content of an example's README.
type Readme struct {
	Lines    []string
	Commands []string // commands to run in the root of a checkout
	prints   *regexp.Regexp
}

var prints = regexp.MustCompile("(?m)(?:^- P| p)rints `([^`]+)`")

// Read reads the README in a folder. In the expected output, "..." matches
// anything.
func Read(dir string) (Readme, error) {
	path := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return Readme{}, err
	}
	r := Readme{Lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	for _, b := range page.Blocks(path, string(text)) {
		for line := range strings.Lines(b.Commands()) {
			r.Commands = append(r.Commands, strings.TrimSpace(line))
		}
	}
	said := prints.FindStringSubmatch(string(text))
	if said == nil || len(r.Commands) == 0 {
		return r, fmt.Errorf("%s has no commands or no expected output", path)
	}
	// A launcher prefixes lines with the rank.
	r.prints = regexp.MustCompile(`(?m)^(?:.*: ?)?(` + strings.ReplaceAll(regexp.QuoteMeta(said[1]), `\.\.\.`, `.+`) + `)\r?$`)
	return r, nil
}

// Said returns the part of output that matches the expected output, or "".
func (r Readme) Said(output string) string {
	if line := r.prints.FindStringSubmatch(output); line != nil {
		return line[1]
	}
	return ""
}

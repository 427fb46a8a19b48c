package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/kubeflow"
)

// fate is what became of a field.
type fate string

const (
	carried fate = "carried"
	named   fate = "named"
	neither fate = "NEITHER"
)

// walked is one field.
type walked struct {
	field string
	fate  fate
}

// convert is what is done with an object: for a runtime that of its TrainJob.
type convert func(object any) kubeflow.Result

// walk converts the least object with each field of its schema.
func walk(s schema, least map[string]any, prefix string, do convert) ([]walked, error) {
	base := do(least)
	if base.Job == nil {
		return nil, fmt.Errorf("the least object does not convert: %v", base.Findings)
	}
	was, err := json.Marshal(base.Job)
	if err != nil {
		return nil, err
	}
	var all []walked
	for _, l := range leaves(s, nil, keys(least)) {
		if at := l.String(); at == "apiVersion" || at == "kind" {
			continue
		}
		v := value(l)
		is, err := judge(do(set(least, l.path, v)), base, string(was), prefix+l.String(), v)
		if err != nil {
			return nil, err
		}
		all = append(all, walked{l.String(), is})
	}
	return all, nil
}

// judge tells what became of the field at path.
func judge(r, base kubeflow.Result, was, path string, v any) (fate, error) {
	for _, f := range r.Findings {
		if !slices.Contains(base.Findings, f) && about(f.Field, path) {
			return named, nil
		}
	}
	if r.Job == nil {
		return neither, nil
	}
	is, err := json.Marshal(r.Job)
	switch {
	case err != nil:
		return "", err
	case v == marker && !strings.Contains(string(is), marker) || string(is) == was:
		return neither, nil
	}
	return carried, nil
}

// about: the finding names the path, something below it, or what it stands in; the
// whole spec is no name.
func about(field, path string) bool {
	if field == "" || field == "spec" || field == "kind" || field == "runtime" || field == "runtime.spec" {
		return false
	}
	return field == path || below(field, path) || below(path, field)
}

func below(path, field string) bool {
	return strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"[")
}
